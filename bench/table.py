"""The bench's table and pages, from its JSON lines alone."""

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.alternate import Line, pace


def read(folder: Path) -> list[Line]:
    """Every recorded line, workload by workload."""
    order = sorted(folder.glob("W*.jsonl"), key=lambda path: (len(path.stem), path.stem))
    return [json.loads(line) for path in sorted(order, key=_rank) for line in path.read_text("utf-8").splitlines()]


def _rank(path: Path) -> tuple[int, str]:
    digits = "".join(letter for letter in path.stem if letter.isdigit())
    return int(digits or 0), path.stem


def page(lines: Sequence[Line]) -> str:
    """Machine, verdicts, and every side's pace, as Markdown."""
    if not lines:
        return "Nothing is recorded yet.\n"
    parts = [_machine(lines), _grid(VERDICT_HEAD, [verdict_row(line) for line in lines if line["kind"] == "verdict"])]
    for about in (line for line in lines if line["kind"] == "about"):
        mine = [line for line in lines if line["workload"] == about["workload"]]
        parts.append(f"## {about['workload']}: {about['title']}\n\n{about['notes']}")
        parts.append(_grid(("case", "side", "median", "range", "share of matrix rate", "peak memory"), _paces(mine)))
        parts += [f"Not measured: {line['case']}. {line['problem']}" for line in mine if line["kind"] == "failure"]
    return "\n\n".join(part for part in parts if part) + "\n"


VERDICT_HEAD = ("workload", "case", "measured", "median", "range", "goal", "")


def verdict_row(line: Mapping[str, Any]) -> tuple[str, ...]:
    """One goal and what was found."""
    over = (
        f" than {line['over']}" if line["what"] == "times faster" else f" over {line['over']}" if line["over"] else ""
    )
    low, high = (line.get(end) for end in ("at_least", "at_most"))
    goal = f"at least {low:g}" if low is not None else f"at most {high:g}" if high is not None else ""
    verdict = {True: "met", False: "**missed**", None: ""}[line["met"]]
    spread = f"{number(line['low'])} to {number(line['high'])}" if line["repeats"] > 1 else ""
    what = f"{line['side']}: {line['what'].replace('_', ' ')}{over}"
    return line["workload"], line["case"], what, number(line["median"]), spread, goal, verdict


def number(value: float) -> str:
    """Three digits."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _paces(lines: Sequence[Line]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for case, side in dict.fromkeys((line["case"], line["side"]) for line in lines if line["kind"] == "run"):
        runs = [line for line in lines if line["kind"] == "run" and (line["case"], line["side"]) == (case, side)]
        seconds, unit = [run["seconds"] for run in runs if run["seconds"]], runs[0]["unit"]
        if not seconds:
            continue
        shares = [run["share_of_rate"] for run in runs if "share_of_rate" in run]
        share = f"{100 * statistics.median(shares):.0f} %" if shares else ""
        spread = f"{pace(min(seconds), unit)} to {pace(max(seconds), unit)}" if len(seconds) > 1 else ""
        peak = f"{statistics.median(run['peak_mb'] for run in runs):,.0f} MB"
        rows.append((case, side, pace(statistics.median(seconds), unit), spread, share, peak))
    return rows


def _machine(lines: Sequence[Line]) -> str:
    about = next(line for line in lines if line["kind"] == "about")
    rates = [line for line in lines if line["kind"] == "rate"]
    words = ", ".join(f"{name} {found}" for name, found in about["versions"].items())
    text = f"{about['processor']}, {about['threads']} threads, {about['memory_gb']} GB; {words}."
    if rates:
        both = {name: statistics.median(line[f"{name}_gflops"] for line in rates) for name in ("float32", "bfloat16")}
        text += " Matrix rate in these runs: " + ", ".join(f"{v:,.0f} GFLOP/s {k}" for k, v in both.items()) + "."
    if about["peers"]:
        text += " Peers: " + ", ".join(f"{name} {found}" for name, found in about["peers"].items()) + "."
    if about["without_peers"]:
        text += f" Without the peers: {about['without_peers']}."
    return ("**Quick settings: these numbers mean nothing.** " if about["quick"] else "") + text


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
