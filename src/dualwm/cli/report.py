"""`dualwm report`: tables, a page and figures from recorded outcomes."""

import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from dualwm.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Args:
    """One self-contained HTML page, Markdown and LaTeX tables from recorded runs; vector figures where asked for.

    Runs on different tasks are never put into one table: they are refused, naming both.
    """

    runs: Positional[tuple[Path, ...]]
    """Run folders, as `dualwm eval --out` and `dualwm compare` leave them."""
    out: Path
    """Folder to write report.html, report.md, one .tex per table and figures/ into."""
    first: str = ""
    """The system that is set against all others; by default the first by name that plans."""
    labels: tuple[str, ...] = ()
    """What systems are called in print: SYSTEM=LABEL, as often as wanted."""
    title: str = ""
    """Heading of the page."""
    figures: bool = False
    """Also draw the charts as PDF and SVG files for a paper (extra `plots`)."""
    json: bool = False
    """Print one JSON object: the files and what the tables hold."""


def run(args: Args) -> int:
    """Read, write, and say where."""
    from dualwm.report.comparison import AllCompared
    from dualwm.report.write import TITLE, read_material, write_report

    if not args.runs:
        raise RecipeError("A report is about at least one run folder; none was named.")
    labels = dict(map(_label, args.labels))
    order = [args.first] if args.first else []
    material = read_material(args.runs, args.out, title=args.title or TITLE, order=order, labels=labels)
    known = {outcome.system for outcome in material.recorded.outcomes}
    if not {*order, *labels} <= known:
        raise RecipeError(f"These runs hold the systems {sorted(known)}, not {sorted({*order, *labels} - known)}.")
    files = write_report(material, args.out, figures=args.figures)
    if args.json:
        tables = AllCompared(parts=material.parts).to_plain()
        print(json.dumps({"files": [str(file) for file in files], "tables": tables}))
    else:
        print("\n".join(str(file) for file in files))
    return 0


def _label(text: str) -> tuple[str, str]:
    """`SYSTEM=LABEL`; a system's own name may hold equals signs, its label not."""
    system, equals, label = text.rpartition("=")
    if not equals or not system or not label:
        raise RecipeError(f"A label is given as SYSTEM=LABEL, such as tworoom=Dual-WM; found {text!r}.")
    return system, label
