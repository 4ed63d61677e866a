"""The bench's own machinery: verdicts, growth, tables, pictures, fresh processes."""

from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench.alternate import Line, SideError, call, judge
from bench.cases import ROOT, Bound, Case, Growth, Options, Ratio, Side
from bench.growth import exponent
from bench.picture import picture
from bench.readme import BLOCK, ROWS, block
from bench.run import FILES, RESULTS
from bench.table import page, read
from dualwm.report.readme import replace_block

CASE = Case(name="one", unit="plan", sides=())
ABOUT = {
    "kind": "about",
    "workload": "W1",
    "title": "A title",
    "notes": "Notes.",
    "versions": {"dualwm": "1"},
    "processor": "a processor",
    "threads": 2,
    "memory_gb": 8.0,
    "peers": None,
    "without_peers": "no network",
    "quick": False,
}


def run_line(side: str, repeat: int, seconds: float, **facts: Any) -> Line:
    return {"kind": "run", "workload": "W1", "case": "one", "side": side, "repeat": repeat, "unit": "plan",
            "precision": "", "seconds": seconds, "peak_mb": 300.0, **facts}  # fmt: skip


LINES = [run_line(side, i, seconds) for side, times in (("ours", (1, 2, 1)), ("peer", (3, 4, 2)))
         for i, seconds in enumerate(times)]  # fmt: skip


def test_a_ratio_is_taken_repeat_by_repeat() -> None:
    verdict = judge("W1", CASE, Ratio(ours="ours", other="peer", at_least=2.0), LINES)
    assert verdict is not None
    assert (verdict["low"], verdict["median"], verdict["high"]) == (2.0, 2.0, 3.0)
    assert verdict["met"] is True


def test_a_goal_that_is_not_reached_is_said_to_be_missed() -> None:
    verdict = judge("W1", CASE, Ratio(ours="ours", other="peer", at_least=2.5), LINES)
    assert verdict is not None
    assert verdict["met"] is False
    assert "**missed**" in page([ABOUT, *LINES, verdict])


def test_a_side_that_did_not_run_gives_no_verdict() -> None:
    assert judge("W1", CASE, Ratio(ours="ours", other="somebody", at_least=2.0), LINES) is None


def test_a_bound_may_be_relative_to_another_side() -> None:
    lines = [run_line("a", 0, 1.0, bytes=30.0), run_line("b", 0, 1.0, bytes=20.0)]
    verdict = judge("W1", CASE, Bound(side="a", fact="bytes", over="b", at_most=1.2), lines)
    assert verdict is not None
    assert (verdict["median"], verdict["met"]) == (1.5, False)


def test_the_exponent_of_a_power_law_is_its_power() -> None:
    assert exponent({x: 3.0 * x**1.5 for x in (1.0, 4.0, 16.0, 64.0)}) == pytest.approx(1.5)
    lines = [run_line(f"ours {x}", 0, 0.1 * x, series="ours", x=x) for x in (1, 2, 4)]
    verdict = judge("W1", CASE, Growth(side="ours", fact="seconds", at_most=0.5), lines)
    assert verdict is not None
    assert (round(verdict["median"], 6), verdict["met"]) == (1.0, False)


@pytest.mark.parametrize("grown", [False, True])
def test_a_picture_shows_every_side(grown: bool) -> None:
    lines = LINES
    if grown:
        lines = [run_line(f"ours {x}", 0, 0.1 * x, series="ours", x=x) for x in (1, 2, 4)]
    drawn = picture([ABOUT, *lines])
    assert drawn is not None
    words = [element.text or "" for element in ElementTree.fromstring(drawn).iter() if element.tag.endswith("text")]
    assert any("exponent 1.00" in text for text in words) if grown else {"ours", "peer"} <= set(words)


def test_the_table_is_made_from_the_lines_of_every_workload_in_order(tmp_path: Path) -> None:
    for name in ("W10", "W2", "W1b", "W1"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"workload": "{name}"}}\n')
    assert [line["workload"] for line in read(tmp_path)] == ["W1", "W1b", "W2", "W10"]


def test_every_workload_has_its_file() -> None:
    assert {f"{name}.py" for name in FILES.values()} == {path.name for path in (ROOT / "bench").glob("w[0-9]*.py")}


def test_readme_shows_the_recorded_lines() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert replace_block(readme, BLOCK, block(read(RESULTS))) == readme


def test_readmes_rows_name_cases_and_sides_that_exist() -> None:
    named = {(name, case, side, over) for name, case, side, over, _ in ROWS}
    there = {
        (name, case.name, goal.ours, goal.other)
        for name in {row[0] for row in ROWS}
        for case in import_module(f"bench.{FILES[name]}").WORKLOAD.cases(Options())
        for goal in case.goals
        if isinstance(goal, Ratio)
    }
    assert named <= there


def test_every_goal_speaks_of_sides_of_its_case() -> None:
    for name, file in FILES.items():
        for case in import_module(f"bench.{file}").WORKLOAD.cases(Options(long=True)):
            sides = {side.name for side in case.sides}
            for goal in case.goals:
                spoken = {goal.ours, goal.other} if isinstance(goal, Ratio) else {goal.side}
                assert isinstance(goal, Growth) or spoken <= sides, (name, case.name, spoken - sides)


def test_a_side_runs_in_a_fresh_process_and_tells_its_memory() -> None:
    found = call(Side(name="rate", call="bench.machine:matrix_rate", args={"seconds": 0.001, "width": 32}), threads=1)
    assert found["float32_gflops"] > 0
    assert found["peak_mb"] > 1


def test_a_side_that_fails_says_why() -> None:
    with pytest.raises(SideError, match="no_such_function"):
        call(Side(name="nothing", call="bench.machine:no_such_function"), threads=1)
