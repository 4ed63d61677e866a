"""Several systems, one folder, any number of processes: always the same bytes."""

import json
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path

import compare_slowly as slow
import pytest
from compare_slowly import CELLS, COMMAND, SETS, compare_slowly
from evaluate_toy import WORLD, Homing, entrant

from dualwm.errors import ProtocolError, RecipeError
from dualwm.evaluate.compare import Cell, Share, conclude, merge, run_share
from dualwm.evaluate.outcomes import RunFolder
from dualwm.records import NO_WEIGHTS, read_outcomes, read_planning

OUTCOMES = 2 * 3 * 17
"""Systems, TaskSets, tasks."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run by one process that nobody disturbed."""
    out = tmp_path_factory.mktemp("whole")
    assert compare_slowly(out)
    return out


def outcomes(folder: Path) -> bytes:
    return (folder / "outcomes.jsonl").read_bytes()


@pytest.mark.parametrize(("of", "workers"), [(1, 1), (2, 1), (3, 2), (5, 7)])
def test_shares_are_parts_of_the_whole(of: int, workers: int):
    shares = [part for i in range(of) for part in Share(index=i, of=of).split(workers)]
    tasks = [task for share in shares for task in share.tasks(SETS[0])]
    assert sorted(tasks) == list(range(17))
    assert len({share.writer for share in shares}) == len(shares)
    for i in range(of):
        parts = [task for part in Share(index=i, of=of).split(workers) for task in part.tasks(SETS[0])]
        assert sorted(parts) == Share(index=i, of=of).tasks(SETS[0])


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "1/0", "a/b", "1/2/3", "-1/2"])
def test_a_shard_that_is_none_is_refused(text: str):
    with pytest.raises(RecipeError, match="such as 2/4"):
        Share.parse(text)


def test_a_shard_counts_from_one():
    assert Share.parse("2/4") == Share(index=1, of=4)
    assert Share.parse("1/1") == Share()


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_shares_in_any_order_give_the_bytes_of_the_whole(whole: Path, tmp_path: Path, order: tuple[int, ...]):
    finished = [compare_slowly(tmp_path, share=Share(index=i, of=3)) for i in order]
    assert finished == [False, False, True]
    assert outcomes(tmp_path) == outcomes(whole)
    assert not list(tmp_path.glob("outcomes.partial-*"))
    assert len(list(tmp_path.glob("timings-*of3.json"))) == 3


def test_the_file_holds_every_system_on_every_task_once(whole: Path):
    found = read_outcomes(whole / "outcomes.jsonl")
    keys = [(o.system, o.goal_offset_env_steps, o.seed, o.task) for o in found]
    assert keys == sorted(keys)
    assert len(set(keys)) == len(keys) == OUTCOMES
    by_system = [{o.taskset_digest for o in found if o.system == system} for system in ("homing", "random")]
    assert by_system[0] == by_system[1] == {taskset.digest for taskset in SETS}


@pytest.mark.parametrize("lines", [1, 40])
def test_a_killed_share_continues_beside_the_others_to_the_same_bytes(whole: Path, tmp_path: Path, lines: int):
    program = subprocess.Popen([sys.executable, slow.__file__, str(tmp_path), "1/2", "0.004"])
    try:
        partial = tmp_path / "outcomes.partial-1of2"
        deadline = time.monotonic() + 200
        while not partial.exists() or partial.read_bytes().count(b"\n") < lines:
            assert time.monotonic() < deadline
            assert program.poll() is None, "it should still be running"
            time.sleep(0.005)
        with pytest.raises(ProtocolError, match=f"process {program.pid} is running this share"):
            compare_slowly(tmp_path, share=Share(index=0, of=2))
    finally:
        program.kill()
        program.wait()
    assert not compare_slowly(tmp_path, share=Share(index=1, of=2))
    assert compare_slowly(tmp_path, share=Share(index=0, of=2))
    assert outcomes(tmp_path) == outcomes(whole)


def test_folders_of_several_machines_are_merged_with_their_timings(whole: Path, tmp_path: Path):
    for i in range(3):
        assert not compare_slowly(tmp_path / f"machine{i}", share=Share(index=i, of=3))
        RunFolder(path=tmp_path / f"machine{i}").keep_provenance({"machine": i})
    home = RunFolder.open(tmp_path / "home", COMMAND)
    others = [tmp_path / f"machine{i}" for i in range(3)]
    assert merge(home, others) == OUTCOMES
    assert merge(home, others) == 0
    assert compare_slowly(tmp_path / "home")
    assert outcomes(tmp_path / "home") == outcomes(whole)
    assert sorted(file.name for file in (tmp_path / "home").glob("timings*of3.json")) == [
        f"timings-{i}of3.json" for i in (1, 2, 3)
    ]
    files = sorted((tmp_path / "home").glob("provenance*.json"))
    assert [json.loads(file.read_text()) for file in files] == [[{"machine": i}] for i in (1, 2, 0)]


def test_another_commands_folder_is_not_merged(whole: Path, tmp_path: Path):
    home = RunFolder.open(tmp_path / "home", {**COMMAND, "num_tasks": 3})
    with pytest.raises(ProtocolError, match="num_tasks was 17, now 3"):
        merge(home, [whole])
    with pytest.raises(ProtocolError, match=r"command\.json"):
        merge(home, [tmp_path])


def test_a_merged_outcome_that_contradicts_is_refused(whole: Path, tmp_path: Path):
    for name in ("a", "b"):
        RunFolder.open(tmp_path / name, COMMAND)
    line = outcomes(whole).splitlines(keepends=True)[0]
    (tmp_path / "a" / "outcomes.partial-x").write_bytes(line)
    (tmp_path / "b" / "outcomes.partial-y").write_bytes(line.replace(b'"steps":', b'"steps":1'))
    with pytest.raises(ProtocolError, match="two different outcomes"):
        merge(RunFolder.open(tmp_path / "a", COMMAND), [tmp_path / "b"])


def test_the_end_of_a_comparison_happens_once(whole: Path, tmp_path: Path):
    ledger, out = tmp_path / "ledger.jsonl", tmp_path / "out"
    decided: list[int] = []
    timed = Cell(entrant=entrant(Homing(on_act=lambda: decided.append(1)), "homing"), tasksets=SETS)
    floor = Cell(entrant=entrant(system="random", weights=NO_WEIGHTS), tasksets=SETS)
    folder = RunFolder.open(out, COMMAND)
    assert run_share(WORLD, [timed, floor], folder, Share(), variant="plain")
    for _ in range(2):
        conclude(WORLD, [timed, floor], folder, variant="plain", ledger=ledger, timed_tasks=5)
        before, lines = len(decided), ledger.read_text().splitlines()
        (row,) = read_planning(out / "planning.json")
    assert len(decided) == before
    assert (row.system, row.tasks, row.tasks_alone) == ("homing", 5, 3)
    for pace in (row.together, row.alone):
        assert None not in (pace.mean_ms, pace.p50_ms, pace.p95_ms)
        assert 0 < (pace.p50_ms or 0) <= (pace.p95_ms or 0)
    # Tasks of test seeds leave a line, those of dev seeds none.
    assert len(lines) == 2 * sum(taskset.collection == "test" for taskset in SETS)


def test_progress_counts_what_the_share_found_missing(tmp_path: Path):
    told: list[tuple[str, int, int]] = []
    share = Share(index=0, of=2)
    run_share(
        WORLD, CELLS, RunFolder.open(tmp_path, COMMAND, share.writer), share, variant="plain",
        on_progress=lambda cell, taskset, progress, left: told.append((cell.entrant.system, progress.done, left)),
    )  # fmt: skip
    assert {left for _, _, left in told} == {2 * 3 * 9}
    assert sum(done for system, done, _ in told if done == 9) == 9 * sum(done == 9 for _, done, _ in told) > 0
