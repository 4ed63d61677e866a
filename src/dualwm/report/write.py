"""A report on recorded runs: a page, Markdown, LaTeX and, where matplotlib is, vector figures."""

import os
from collections.abc import Sequence
from pathlib import Path

from dualwm.files import write_whole
from dualwm.report.card import card
from dualwm.report.charts import charts
from dualwm.report.comparison import Compared, compared
from dualwm.report.latex import latex, latex_grid
from dualwm.report.markdown import grid, markdown
from dualwm.report.origin import origin
from dualwm.report.over_worlds import over_worlds
from dualwm.report.results_page import Material, results_page
from dualwm.report.tables import read_runs
from dualwm.report.words import Labels

TITLE = "Success on matched tasks"


def read_material(
    folders: Sequence[Path], out: Path, *, title: str = TITLE, order: Sequence[str] = (), labels: Labels | None = None
) -> Material:
    """What the folders hold, ready to be written at `out`.

    The first system of `order` is set against the others; where several worlds have a row with its name in print, they
    are summed up.
    """
    recorded = read_runs(folders)
    parts, named = compared(recorded, order).parts, labels or {}
    ours = [named.get(system, system) for system in order[:1]]
    tables = [part.table for part in parts]
    return Material(
        title=title,
        recorded=recorded,
        parts=parts,
        summaries=tuple(one for name in ours for one in over_worlds(recorded, tables, name, named)),
        origins={str(folder): origin(folder) for folder in folders},
        labels=named,
        links={str(folder): _link(folder / "outcomes.jsonl", out) for folder in folders},
    )


def write_report(material: Material, out: Path, *, figures: bool = False) -> list[Path]:
    """Write everything there is; the files, the page first."""
    tables = [(f"{p.table.world}-{p.table.protocol}-{p.table.rule}", p) for p in material.parts]
    summed = [(f"over-worlds-{s.protocol}", *s.lines(material.labels)) for s in material.summaries]
    texts = {
        "report.html": results_page(material),
        "report.md": "\n".join(
            [*(grid(head, rows) + "\n" for _, head, rows in summed), *(report_markdown(material, p) for _, p in tables)]
        ),
        **{f"{name}.tex": latex_grid(name, head, rows) for name, head, rows in summed},
        **{f"{name}.tex": latex(material.recorded, part.table, material.labels) for name, part in tables},
    }
    for name, text in texts.items():
        write_whole(out / name, text)
    files = [out / name for name in texts]
    if figures:
        from dualwm.report.figures import save_figures

        drawn = [chart for _, part in tables for chart in charts(material.recorded, part.table, material.labels)]
        files += save_figures(drawn, out / "figures")
    return files


def report_markdown(material: Material, part: Compared) -> str:
    """A table with what was compared and the protocol card under it."""
    lines = card(material.recorded, part.table, material.origins, material.labels)
    head = ["protocol card", *(f"offset {offset}" for offset in part.table.tasks)]
    told = [markdown(part.table, material.labels).strip()]
    if part.duels:
        told.append("\n".join(f"- {duel.sentence()}" for duel in part.duels))
    return "\n\n".join([*told, grid(head, [[name, *cells] for name, cells in lines])]) + "\n"


def _link(file: Path, out: Path) -> str:
    """From a page in `out` to a file; where no relative path leads there (another drive), none."""
    try:
        return Path(os.path.relpath(file, out)).as_posix()
    except ValueError:
        return ""
