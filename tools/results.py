"""Fill README's results block from the committed run folders below `results/`: `make results`.

With `--check` nothing is written; the exit code is 1 if README does not say what the outcome files say.
"""

import argparse
import sys
from pathlib import Path

from dualwm.report.markdown import markdown
from dualwm.report.readme import replace_block
from dualwm.report.tables import build_tables, ledger_notes, read_runs

ROOT = Path(__file__).resolve().parent.parent
LABELS = {
    "tworoom": "Dual-WM",
    "tworoom:low-only": "low-level only, same search",
    "random": "random actions",
    "noop": "no actions",
    "oracle": "oracle",
}
NOTHING = "*No outcomes are recorded yet.*"


def block(results: Path) -> str:
    """The tables of every recorded run, in Markdown."""
    folders = sorted(path.parent for path in results.rglob("outcomes.jsonl"))
    if not folders:
        return NOTHING
    recorded = read_runs(folders)
    tables = [markdown(table, LABELS) for table in build_tables(recorded, order=list(LABELS))]
    ledger = results / "ledger.jsonl"
    notes = [f"- {note}" for note in ledger_notes(recorded, ledger)] if ledger.exists() else []
    return "\n\n".join([*tables, *(["\n".join(notes)] if notes else [])])


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
