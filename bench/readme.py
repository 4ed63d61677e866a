"""README's short table of performance, filled from the recorded lines: `python -m bench.readme [--check]`."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from bench.alternate import Line
from bench.cases import ROOT
from bench.run import RESULTS
from bench.table import number, read
from dualwm.report.readme import replace_block

BLOCK = "performance"
NOTHING = "*Nothing is recorded yet.*"
ROWS: Sequence[tuple[str, str, str, str | None, str]] = (
    ("W0", "1 task", "ours float32", "peer float32", "planning per environment step, shipped system"),
    ("W1", "1 task", "ours float32", "peer float32", "low-level plan at the paper's size, float32"),
    ("W1", "1 task", "ours bfloat16", "peer bfloat16", "the same in bfloat16"),
    ("W1b", "1 task", "ours float32", "peer float32", "low-level plan at the laptop's size, a lone task"),
    ("W1b", "200 tasks", "ours float32", "peer float32", "the same for 200 tasks in one batch"),
    ("W2", "W2a route + guided, 1 task", "ours float32", "reference", "route and guided decision, paper's size"),
    ("W2", "W2b converging, 1 task", "ours float32", "reference", "converging decision, paper's size"),
    ("W3", "paper, windows, float32", "ours", "peer", "training windows, paper's size"),
    ("W3", "laptop, float32", "ours", "peer, our encoder", "training windows, laptop's size"),
    ("W4", "64 px", "ours compressed", "HDF5 LZ4, a frame a chunk", "reading compressed windows of 64 px"),
    ("W5", "TwoRoom, 256 rooms", "ours", "peer", "TwoRoom steps with a 64-px frame"),
)
"""Workload, case, side and yardstick of a ratio, and what it is called."""
HEAD = ("", "against", "times as fast", "range")
ABSOLUTE = (
    ("W6", "seconds", "{:.0f} s for 200 TwoRoom tasks at offset 100, from command to table"),
    ("W7", "minutes", "{:.0f} minutes from nothing to a trained and evaluated system"),
)


def block(lines: Sequence[Line]) -> str:
    """The table, and the sentences behind it."""
    verdicts = [line for line in lines if line["kind"] == "verdict"]
    rows = [_row(line, words) for *key, words in ROWS for line in verdicts if _is(line, key)]
    if not rows:
        return NOTHING
    grid = "\n".join("| " + " | ".join(row) + " |" for row in (HEAD, ("---", "---", "---:", "---:"), *rows))
    told = [
        words.format(line["median"])
        for name, fact, words in ABSOLUTE
        for line in verdicts
        if (line["workload"], line["what"]) == (name, fact)
    ]
    return "\n\n".join([grid, *(["; ".join(told) + "."] if told else []), _where(lines)])


def _is(line: Line, key: Sequence[str | None]) -> bool:
    return line["what"] == "times faster" and [line[k] for k in ("workload", "case", "side", "over")] == list(key)


def _row(line: Line, words: str) -> tuple[str, ...]:
    over = "plain reference" if line["over"] == "reference" else line["over"]
    spread = f"{number(line['low'])} to {number(line['high'])}" if line["repeats"] > 1 else ""
    return words, over, number(line["median"]), spread


def _where(lines: Sequence[Line]) -> str:
    about: dict[str, Any] = next(line for line in lines if line["kind"] == "about")
    peer = (about["peers"] or {}).get("stable-worldmodel")
    named = f" The peer is stable-worldmodel {peer}." if peer else ""
    machine = f"{about['processor']}, {about['threads']} threads, torch {about['versions']['torch']}"
    return f"Measured by `make bench` on {machine}.{named} Everything: [bench/results](bench/results/table.md)."


def main() -> int:
    """Write README, or compare it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where README says something else")
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    new = replace_block(old, BLOCK, block(read(RESULTS)), str(readme))
    if parser.parse_args().check:
        if new != old:
            print("README.md does not show what bench/results holds: run `make results`.", file=sys.stderr)
        return int(new != old)
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
