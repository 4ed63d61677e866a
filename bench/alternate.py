"""Running the sides of a case alternately, each in a fresh process, and judging what came back."""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench.cases import PEER_PYTHON, ROOT, Bound, Case, Growth, Options, Ratio, Side
from bench.child import MARK
from bench.growth import exponent, points

Line = dict[str, Any]
"""One line of a results file: it says its `kind`, its workload and its case."""


class SideError(Exception):
    """A side did not come back with a result."""


def call(side: Side, threads: int) -> Line:
    """The result of one side in a fresh process."""
    task = json.dumps({"call": side.call, "args": dict(side.args), "threads": threads})
    python = str(PEER_PYTHON) if side.peer else sys.executable
    settings = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    if side.peer:
        settings.pop("PYTHONPATH", None)  # the peers' Python must not find our package
    command = [python, "-W", "ignore", "-m", "bench.child", task]
    done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not told:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-8:])
        raise SideError(f"{side.name} ({side.call}) ended with exit code {done.returncode} and no result:\n{tail}")
    return json.loads(told[-1].removeprefix(MARK))


def run_case(workload: str, case: Case, options: Options) -> list[Line]:
    """Every repeat of every side, the machine's matrix rate beside each repeat, and the verdicts."""
    sides = [side for side in case.sides if options.peer or not side.peer]
    repeats = 1 if options.quick else min(options.repeats, case.repeats or options.repeats)
    lines: list[Line] = []
    for repeat in range(repeats):
        rate = call(RATE, options.threads)
        where = {"workload": workload, "case": case.name, "repeat": repeat}
        lines.append({"kind": "rate", **where, **rate})
        for side in sides:
            if side.once and repeat:
                continue
            result = call(side, options.threads)
            share = _share(result, side, rate)
            facts = {"kind": "run", **where, "side": side.name, "unit": case.unit, "precision": side.precision}
            lines.append({**facts, **result, **({} if share is None else {"share_of_rate": share})})
            print(f"  {case.name:<28} {side.name:<24} {told(lines[-1])}", file=sys.stderr, flush=True)
    return lines + [verdict for goal in case.goals if (verdict := judge(workload, case, goal, lines)) is not None]


RATE = Side(name="matrix rate", call="bench.machine:matrix_rate")


def _share(result: Mapping[str, Any], side: Side, rate: Mapping[str, Any]) -> float | None:
    """Floating-point operations executed, over time, over the matrix rate measured beside it."""
    if not side.precision or not result.get("flops"):
        return None
    return result["flops"] / result["seconds"] / (rate[f"{side.precision}_gflops"] * 1e9)


def judge(workload: str, case: Case, goal: Ratio | Bound | Growth, lines: Sequence[Line]) -> Line | None:
    """A goal against the runs: the median and the range over repeats; None where a side did not run."""
    found, words = _found(goal, lines)
    if not found:
        return None
    median = statistics.median(found)
    verdict = {"kind": "verdict", "workload": workload, "case": case.name, "unit": case.unit, **words}
    spread = {"median": median, "low": min(found), "high": max(found), "repeats": len(found)}
    return {**verdict, **spread, "met": _met(median, words)}


def _found(goal: Ratio | Bound | Growth, lines: Sequence[Line]) -> tuple[list[float], dict[str, Any]]:
    """What the repeats say about a goal, and the goal in words."""
    if isinstance(goal, Ratio):
        ours, other = (_facts(lines, name, "seconds") for name in (goal.ours, goal.other))
        words = {"what": "times faster", "side": goal.ours, "over": goal.other, "at_least": goal.at_least}
        return _quotients(other, ours), words
    if isinstance(goal, Growth):
        grown = points(lines, goal.side, goal.fact)
        words = {"what": f"exponent of {goal.fact}", "side": goal.side, "over": None, "at_most": goal.at_most}
        return [exponent(grown)] if len(grown) > 1 else [], words
    mine = _facts(lines, goal.side, goal.fact)
    words = {"what": goal.fact, "side": goal.side, "over": goal.over}
    limits = {"at_least": goal.at_least, "at_most": goal.at_most}
    return mine if goal.over is None else _quotients(mine, _facts(lines, goal.over, goal.fact)), words | limits


def _facts(lines: Sequence[Line], side: str, fact: str) -> list[float]:
    return [float(line[fact]) for line in lines if line["kind"] == "run" and line["side"] == side and fact in line]


def _quotients(above: Sequence[float], below: Sequence[float]) -> list[float]:
    """Repeat by repeat; a side that ran once is held against every repeat of the other."""
    if not above or not below:
        return []
    repeats = max(len(above), len(below))
    above, below = (list(side) * repeats if len(side) == 1 else side for side in (above, below))
    return [a / b for a, b in zip(above, below, strict=True)]


def _met(value: float, words: Mapping[str, Any]) -> bool | None:
    low, high = words.get("at_least"), words.get("at_most")
    if low is None and high is None:
        return None
    return (low is None or value >= low) and (high is None or value <= high)


def told(line: Mapping[str, Any]) -> str:
    """One run in words: its time or its rate, and its share of the machine."""
    words = pace(line["seconds"], line["unit"]) if line.get("seconds") else ""
    if line.get("share_of_rate"):
        words += f", {100 * line['share_of_rate']:.0f} % of the {line['precision']} matrix rate"
    return words


def pace(seconds: float, unit: str) -> str:
    """Time per unit, or units per second where a unit takes less than a millisecond."""
    if seconds < 1e-3:
        return f"{1 / seconds:,.0f} {unit}s/s"
    return f"{1000 * seconds:,.1f} ms per {unit}" if seconds < 1 else f"{seconds:,.2f} s per {unit}"
