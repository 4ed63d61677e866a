"""Fill README's results block from the committed run folders below `results/`: `make results`.

With `--check` nothing is written; the exit code is 1 if README does not say what the outcome files say.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dualwm.envs.base import get_world, world_names
from dualwm.records import NO_WEIGHTS, read_outcomes
from dualwm.report.markdown import markdown
from dualwm.report.readme import replace_block
from dualwm.report.tables import Row, Table, build_tables, ledger_notes, read_runs

ROOT = Path(__file__).resolve().parent.parent
WORLDS = ("tworoom", "reacher", "sokoban", "pusht", "cube")
_OF_A_WORLD = {
    "{}": "Dual-WM (training seed 0, shipped)",
    "runs/{}-laptop-1": "Dual-WM, training seed 1",
    "runs/{}-laptop-2": "Dual-WM, training seed 2",
    "{}:low-only": "low-level only, same search",
    "{}:low-only:low_search=96/8/8": "low-level only, planning as long (96/8/8)",
    "{}-lewm": "LeWM, our search",
    "{}-lewm:paper": "LeWM, its own search (300/30/30)",
}
LABELS = {
    **{name.format(world): label for world in WORLDS for name, label in _OF_A_WORLD.items()},
    "random": "random actions",
    "marginal": "recorded actions in no order",
    "noop": "no actions",
    "replay": "recorded actions played back",
    "oracle": "oracle",
}
NOTHING = "*No outcomes are recorded yet.*"
WIDE_POINTS = 5.0
"""A range over training seeds above this is said to be wide."""


def seed_note(table: Table) -> str | None:
    """How far apart the training seeds lie, at every offset on which all of them were run."""
    rows = [row for row in table.rows if row.system == table.world or re.fullmatch(r"runs/\S+-\d+", row.system)]
    ranges = {offset: points for offset in table.tasks if (points := _range_points(rows, offset)) is not None}
    if len(rows) < 2 or not ranges:
        return None
    told = ", ".join(f"{points:.1f} points at offset {offset}" for offset, points in ranges.items())
    wide = [str(offset) for offset, points in ranges.items() if points > WIDE_POINTS]
    verdict = (
        f"**More than {WIDE_POINTS:.0f} points at offset {', '.join(wide)}**" if wide else "None is above 5 points"
    )
    return f"Range of the success of {len(rows)} training seeds: {told}. {verdict}."


def _range_points(rows: Sequence[Row], offset: int) -> float | None:
    rates = [row.cells[offset].success.fraction for row in rows if offset in row.cells]
    known = [rate for rate in rates if rate is not None]
    return 100 * (max(known) - min(known)) if len(known) == len(rows) > 0 else None


def pace_note(tables: Sequence[Table]) -> str | None:
    """Which planning times were measured with nothing beside them, where others were not. Floors plan nothing."""
    cells = [
        (row.system, table.protocol, m, cell)
        for table in tables
        for row in table.rows
        for m, cell in row.cells.items()
        if row.weights_digest != NO_WEIGHTS
    ]
    alone = [
        f"{LABELS.get(name, name)} ({kind}, offset {m})" for name, kind, m, cell in cells if cell.timed is not None
    ]
    if len(alone) == len(cells):
        return None
    named = ", ".join(alone) or "no row"
    return (
        f"Planning time was measured with nothing beside it for {named}. Elsewhere it is what the "
        "evaluation itself took, beside other work on the same machine: too high, and no comparison of rows."
    )


def quoted(file: Path) -> str:
    """Figures of the paper, apart from ours: they were measured on something else."""
    data: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    rows: dict[str, dict[str, float]] = data["success_percent"]
    offsets = sorted({int(offset) for row in rows.values() for offset in row})
    lines = [
        ["quoted, not like for like", *(f"offset {offset}" for offset in offsets)],
        ["---", *("---:" for _ in offsets)],
        *([name, *(f"{row[str(m)]} %" if str(m) in row else "–" for m in offsets)] for name, row in rows.items()),
    ]
    grid = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"From {data['source']} ({data['why_not_alike']}):\n\n{grid}"


def by_dynamics(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """Folders by the dynamics they ran in, empty for a world's default: outcomes of two never share a table."""
    groups: dict[str, list[Path]] = {}
    for folder in folders:
        first = read_outcomes(folder / "outcomes.jsonl")[0]
        default = get_world(first.world).variants[0] if first.world in world_names() else first.variant
        groups.setdefault("" if first.variant == default else first.variant, []).append(folder)
    return groups


def block(results: Path) -> str:
    """The tables of every recorded run, in Markdown."""
    folders = sorted(path.parent for path in results.rglob("outcomes.jsonl"))
    if not folders:
        return NOTHING
    notes: list[str] = []
    parts: list[str] = []
    for dynamics, those in sorted(by_dynamics(folders).items()):
        recorded = read_runs(those)
        tables = build_tables(recorded, order=list(LABELS))
        notes += [note for table in tables if (note := seed_note(table))]
        notes += ledger_notes(recorded, results / "ledger.jsonl")
        notes += [note for note in [pace_note(tables)] if note is not None]
        parts += [f"Dynamics `{dynamics}`:"] if dynamics else []
        parts += [markdown(table, LABELS).strip() for table in sorted(tables, key=lambda t: WORLDS.index(t.world))]
    parts += ["\n".join(f"- {note}" for note in notes)] if notes else []
    parts += [quoted(file) for file in sorted((results / "quoted").glob("*.json"), key=lambda f: WORLDS.index(f.stem))]
    return "\n\n".join(parts)


def main() -> int:
    """Write README, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = replace_block(old, "results", block(ROOT / "results"), str(readme))
    if parser.parse_args().check:
        if new != old:
            print("README.md does not show what results/ holds: run `make results`.", file=sys.stderr)
        return int(new != old)
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
