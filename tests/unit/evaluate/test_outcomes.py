import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import evaluate_slowly as slow
import pytest
from evaluate_slowly import TASKSETS, evaluate_slowly
from evaluate_toy import WORLD, Homing, entrant, go, line_tasks

from dualwm.errors import ProtocolError
from dualwm.evaluate.cell import random_floor, run_missing
from dualwm.evaluate.closed_loop import Progress, Timings
from dualwm.evaluate.outcomes import RunFolder
from dualwm.records import Outcome, TaskSet, read_outcomes

COMMAND = {"system": "toy", "num_tasks": 4}


def folder_of(path: Path, writer: str = "") -> RunFolder:
    return RunFolder.open(path, COMMAND, writer)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    evaluate_slowly(out, 0.0)
    return out


def test_outcomes_are_sorted_lines_without_clocks_and_timings_lie_beside_them(whole: Path):
    lines = (whole / "outcomes.jsonl").read_text().splitlines()
    outcomes = [Outcome.from_json(line) for line in lines]
    assert [(o.seed, o.task) for o in outcomes] == [(s, i) for s in (1000, 1001) for i in range(17)]
    assert not {"seconds", "date", "time", "host", "planning_ms"} & set(json.loads(lines[0]))
    assert sorted(file.name for file in whole.iterdir()) == [
        "command.json",
        "floors.jsonl",
        "outcomes.jsonl",
        "taskset-integrator-heldout-o25-s1000.json",
        "taskset-integrator-heldout-o25-s1001.json",
        "timings-floors.json",
        "timings.json",
    ]
    assert len(read_outcomes(whole / "floors.jsonl")) == 34


@pytest.mark.parametrize("batch_size", [1, 5, None])
def test_batch_size_does_not_change_a_byte(whole: Path, tmp_path: Path, batch_size: int | None):
    evaluate_slowly(tmp_path, 0.0, batch_size)
    assert (tmp_path / "outcomes.jsonl").read_bytes() == (whole / "outcomes.jsonl").read_bytes()
    assert (tmp_path / "floors.jsonl").read_bytes() == (whole / "floors.jsonl").read_bytes()


@pytest.mark.parametrize("at", [0, 1, 4, 9, 14, 16, 25])
def test_an_interrupted_run_continues_with_what_is_missing(whole: Path, tmp_path: Path, at: int):
    calls = 0
    ran: dict[int, int] = {}

    def interrupt(taskset: TaskSet, progress: Progress) -> None:
        nonlocal calls
        calls += 1
        if calls > at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate_slowly(tmp_path, 0.0, on_progress=interrupt)
    assert not (tmp_path / "outcomes.jsonl").exists()
    partial = tmp_path / "outcomes.partial-main"
    before = len(read_outcomes(partial)) if partial.exists() else 0
    evaluate_slowly(tmp_path, 0.0, on_progress=lambda taskset, progress: ran.update({taskset.seed: progress.tasks}))
    assert sum(ran.values()) == 34 - before
    assert (tmp_path / "outcomes.jsonl").read_bytes() == (whole / "outcomes.jsonl").read_bytes()
    assert not partial.exists()


@pytest.mark.parametrize("lines", [1, 6, 20])
def test_a_killed_run_continues_to_the_same_bytes(whole: Path, tmp_path: Path, lines: int):
    program = subprocess.Popen([sys.executable, slow.__file__, str(tmp_path), "0.02"])
    try:
        partial = tmp_path / "outcomes.partial-main"
        deadline = time.monotonic() + 60
        while not partial.exists() or partial.read_bytes().count(b"\n") < lines:
            assert time.monotonic() < deadline
            assert program.poll() is None, "it should still be running"
            time.sleep(0.005)
    finally:
        program.kill()
        program.wait()
    assert not (tmp_path / "outcomes.jsonl").exists()
    evaluate_slowly(tmp_path, 0.0)
    assert (tmp_path / "outcomes.jsonl").read_bytes() == (whole / "outcomes.jsonl").read_bytes()


def test_a_torn_last_line_is_run_again(tmp_path: Path):
    taskset = line_tasks([1, 2, 3, 4])
    outcomes = go(Homing(), taskset).outcomes
    torn = "".join(o.to_json() + "\n" for o in outcomes[:2]) + outcomes[2].to_json()[:50]
    (tmp_path / "outcomes.partial-main").write_text(torn)
    log = folder_of(tmp_path).outcomes()
    assert log.missing("toy", taskset) == [2, 3]
    assert not log.finish([("toy", taskset)])
    log.add(outcomes[2:])
    assert log.finish([("toy", taskset)])
    assert read_outcomes(tmp_path / "outcomes.jsonl") == outcomes


def test_several_writers_share_the_tasks_to_the_same_bytes(tmp_path: Path):
    taskset, timings = line_tasks(slow.DISTANCES), []
    for name, shares in (("alone", [range(17)]), ("shared", [range(0, 17, 2), range(1, 17, 2)])):
        for i, share in enumerate(shares):
            folder = folder_of(tmp_path / name, f"{i}of{len(shares)}")
            log = folder.outcomes()
            ran = run_missing(WORLD, entrant(), taskset, log, folder.timings(), "plain", only=share)
            assert ran == len(share)
            assert log.finish([("toy", taskset)]) == (i == len(shares) - 1)
            timings.append(folder.timings().total("toy", [taskset]).env_steps)
    alone, shared = ((tmp_path / name / "outcomes.jsonl").read_bytes() for name in ("alone", "shared"))
    assert alone == shared
    assert timings[0] == timings[1] + timings[2]
    assert sorted(file.name for file in (tmp_path / "shared").glob("timings*")) == [
        "timings-0of2.json",
        "timings-1of2.json",
    ]


def test_a_finished_run_runs_nothing_again(whole: Path, tmp_path: Path):
    evaluate_slowly(tmp_path, 0.0)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    evaluate_slowly(tmp_path, 0.0, on_progress=lambda taskset, progress: pytest.fail("something ran"))
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_folder_belongs_to_one_command(tmp_path: Path):
    folder_of(tmp_path)
    folder_of(tmp_path)
    with pytest.raises(ProtocolError, match="num_tasks was 4, now 5"):
        RunFolder.open(tmp_path, {**COMMAND, "num_tasks": 5})
    assert json.loads((tmp_path / "command.json").read_text()) == COMMAND


def test_other_tasks_of_the_same_name_are_refused(tmp_path: Path):
    folder = folder_of(tmp_path)
    folder.keep_taskset(line_tasks([1, 2]))
    folder.keep_taskset(line_tasks([1, 2]))
    with pytest.raises(ProtocolError, match="other tasks"):
        folder.keep_taskset(line_tasks([1, 3]))


def test_two_different_outcomes_of_one_task_are_refused(tmp_path: Path):
    outcomes = go(Homing(), line_tasks([1, 2])).outcomes
    log = folder_of(tmp_path).outcomes()
    log.add(outcomes)
    log.add(outcomes)
    with pytest.raises(ProtocolError, match="task 1 of seed 0 has two different outcomes"):
        log.add([replace(outcomes[1], weights_digest="other")])


def test_a_damaged_line_is_named(tmp_path: Path):
    (tmp_path / "outcomes.jsonl").write_text('{"system": "toy"}\n')
    with pytest.raises(ProtocolError, match=r"outcomes\.jsonl, line 1"):
        folder_of(tmp_path).outcomes()


def test_timings_of_all_sessions_are_summed(tmp_path: Path):
    taskset, other = line_tasks([1]), line_tasks([2])
    log = folder_of(tmp_path).timings()
    write = log.session("toy", "w", taskset)
    write(Timings(planning_seconds=1.0, env_steps=5))
    write(Timings(planning_seconds=2.0, env_steps=10, decision_ms_per_env_step=(1.0, 2.0)))
    log.session("toy", "w", other)(Timings(planning_seconds=100.0, env_steps=1))
    log.session("never written", "w", taskset)
    log.keep_single_ms("toy", taskset, 7.5)
    again = folder_of(tmp_path).timings()
    again.session("toy", "w", taskset)(Timings(planning_seconds=1.0, env_steps=2, decision_ms_per_env_step=(3.0,)))
    for read in (again, folder_of(tmp_path).timings()):
        total = read.total("toy", [taskset])
        assert (total.planning_seconds, total.env_steps) == (3.0, 12)
        assert total.decision_ms_per_env_step == (1.0, 2.0, 3.0)
        assert read.single_ms("toy", taskset) == 7.5
        assert read.single_ms("toy", other) is None


def test_the_random_floor_is_the_same_in_every_folder(tmp_path: Path):
    floors = [random_floor(WORLD, TASKSETS, folder_of(tmp_path / name), "plain") for name in ("a", "b")]
    assert floors[0] == floors[1]
    assert len(floors[0]) == 34
