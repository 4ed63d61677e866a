"""What a long evaluation says while it runs."""

import pytest
from evaluate_toy import line_tasks

from dualwm.cli.evaluating import Bar, Board
from dualwm.evaluate.closed_loop import Progress, Timings
from dualwm.zoo.comparing import Standing


def progress(done: int, alive: int, env_step: int) -> Progress:
    timings = Timings(planning_seconds=30.0, simulating_seconds=10.0, env_steps=1000)
    return Progress(
        tasks=20, done=done, successes=done // 2, env_step=env_step, budget_env_steps=50, alive=alive, timings=timings
    )


def test_work_is_counted_evenly_though_most_tasks_end_at_the_budget():
    assert progress(done=0, alive=20, env_step=25).worked == 10
    assert progress(done=4, alive=16, env_step=25).worked == 12
    assert progress(done=20, alive=0, env_step=50).worked == 20


def test_an_evaluation_tells_running_success_with_interval_pace_and_time_left(capsys):
    with Bar(quiet=False) as bar:
        bar.tell(line_tasks([1.0], seed=7), progress(done=8, alive=4, env_step=25))
        bar.tell(line_tasks([1.0], seed=7), progress(done=9, alive=4, env_step=25))
    # 10 of 20 tasks' worth of work took 40 s.
    assert capsys.readouterr().err == (
        "offset 25, seed 7: 8 of 20 tasks over, 50.0 % solved [22, 78], "
        "30.0 ms of planning per environment step, 40 s left\n"
    )


def standing(share: str, system: str, done: int) -> Standing:
    return Standing(
        share=share, tasks_of_share=10, system=system, goal_offset_env_steps=100, seed=1, done=done, worked=float(done),
        successes=done, planning_seconds=2.0, env_steps=100,
    )  # fmt: skip


def test_a_comparison_adds_up_its_processes(capsys, monkeypatch):
    clock = iter(range(0, 1000, 100))
    monkeypatch.setattr("dualwm.cli.evaluating.time.monotonic", lambda: float(next(clock)))
    with Board(quiet=False) as board:
        board.tell(standing("1of2", "a", 2))
        board.tell(standing("2of2", "a", 3))
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("5 of 20 tasks over, ")
    assert "; a at offset 100, 100.0 % solved [57, 100], 20.0 ms of planning" in line


@pytest.mark.parametrize("shown", [Bar, Board])
def test_quiet_is_quiet(shown, capsys):
    with shown(quiet=True) as one:
        if shown is Bar:
            one.tell(line_tasks([1.0]), progress(1, 1, 1))
        else:
            one.tell(standing("", "a", 1))
    assert capsys.readouterr().err == ""
