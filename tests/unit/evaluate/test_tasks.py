import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluate_toy import WORLD, line_tasks, walks

from dualwm.errors import ProtocolError
from dualwm.evaluate.pool import PairPool, build_pool
from dualwm.evaluate.tasks import (
    budget_env_steps,
    check_difficulty,
    collection_of,
    difficulty,
    load_taskset,
    sample_taskset,
    save_taskset,
)
from dualwm.records import TaskSet

SMALL = {"min_pairs": 100, "min_episodes": 40, "paper_sample": 12}


@pytest.fixture(scope="module")
def test_pool() -> PairPool:
    return build_pool("test", walks(first_seed=500), WORLD, **SMALL)


@pytest.fixture(scope="module")
def dev_pool() -> PairPool:
    return build_pool("dev", walks(first_seed=900), WORLD, **SMALL)


def sample(pool: PairPool, seed: int = 0, num_tasks: int = 20, offset: int = 25, **words: str) -> TaskSet:
    return sample_taskset(pool, seed=seed, num_tasks=num_tasks, goal_offset_env_steps=offset, **words)


def test_budgets_are_the_papers_and_25_steps_more_than_any_other_offset():
    assert [budget_env_steps(m) for m in (25, 50, 75, 100)] == [50, 75, 100, 125]
    assert budget_env_steps(60) == 85


def test_small_seeds_are_for_test_and_seeds_from_1000_on_for_dev(test_pool: PairPool, dev_pool: PairPool):
    assert [collection_of(seed) for seed in (0, 42, 999, 1000, 5000)] == ["test", "test", "test", "dev", "dev"]
    assert sample(test_pool, 999).collection == "test"
    assert sample(dev_pool, 1000).collection == "dev"
    for pool, seed in ((test_pool, 1000), (dev_pool, 999), (dev_pool, 42)):
        for protocol in ("heldout", "paper"):
            with pytest.raises(ProtocolError, match=f"Seed {seed} may only draw"):
                sample(pool, seed, num_tasks=5, protocol=protocol)
    with pytest.raises(ProtocolError, match="0 or more"):
        sample(test_pool, -1)


def test_dev_and_test_tasks_never_share_an_episode(test_pool: PairPool, dev_pool: PairPool):
    test = {task.env_seed for seed in range(5) for task in sample(test_pool, seed).tasks}
    dev = {task.env_seed for seed in range(1000, 1005) for task in sample(dev_pool, seed).tasks}
    assert test <= set(range(500, 540))
    assert dev <= set(range(900, 940))


@pytest.mark.parametrize("offset", [25, 50, 75, 100])
def test_heldout_uses_an_episode_once_and_nothing_that_is_solved_at_the_start(test_pool: PairPool, offset: int):
    for seed in range(10):
        taskset = sample(test_pool, seed, 15, offset)
        assert max(Counter(task.episode for task in taskset.tasks).values()) == 1
        assert not any(task.initially_solved for task in taskset.tasks)
        assert [task.index for task in taskset.tasks] == list(range(15))
        assert taskset.budget_env_steps == offset + 25


def test_pairs_solved_at_the_start_are_left_out_by_the_rule_that_is_asked_for(test_pool: PairPool):
    pairs = test_pool.pairs[25]
    solved = {"near": np.ones(len(pairs), bool), "nearer": np.zeros(len(pairs), bool)}
    pool = replace(test_pool, pairs={25: replace(pairs, solved=solved)})
    assert len(sample(pool, rule="nearer").tasks) == 20
    with pytest.raises(ProtocolError, match="the pool gives 0"):
        sample(pool, rule="near")


def test_no_solved_pair_is_drawn_however_many_there_are(test_pool: PairPool):
    pairs = test_pool.pairs[25]
    solved = {"near": np.arange(len(pairs)) % 3 > 0, "nearer": np.zeros(len(pairs), bool)}
    pool = replace(test_pool, pairs={25: replace(pairs, solved=solved)})
    assert not any(task.initially_solved for seed in range(5) for task in sample(pool, seed).tasks)


def test_heldout_tasks_come_in_random_order_of_episodes(test_pool: PairPool):
    for seed in range(5):
        episodes = [task.episode for task in sample(test_pool, seed).tasks]
        assert episodes != sorted(episodes)


def test_fewer_tasks_are_the_first_of_more(test_pool: PairPool):
    many, few = sample(test_pool, 1, 30), sample(test_pool, 1, 8)
    assert few.tasks == many.tasks[:8]
    assert few.digest == many.first(8).digest != many.digest


def test_the_digest_is_a_function_of_what_is_asked_for(test_pool: PairPool):
    asked = [(seed, offset, rule) for seed in (0, 1) for offset in (25, 50) for rule in ("near", "nearer")]
    digests = [sample(test_pool, seed, 10, offset, rule=rule).digest for seed, offset, rule in asked]
    assert len(set(digests)) == len(asked)
    assert digests == [sample(test_pool, seed, 10, offset, rule=rule).digest for seed, offset, rule in asked]
    assert sample(test_pool, 0, 10, protocol="paper").digest not in digests


def test_different_seeds_draw_different_tasks(test_pool: PairPool):
    starts = [[task.start for task in sample(test_pool, seed).tasks] for seed in (0, 1, 42)]
    assert starts[0] != starts[1] != starts[2]


def test_paper_tasks_are_a_slice_of_the_sorted_draw_and_keep_what_is_solved(test_pool: PairPool):
    pairs = test_pool.paper[42, 50]
    solved = {"near": np.arange(len(pairs)) % 2 == 0, "nearer": np.zeros(len(pairs), bool)}
    pool = replace(test_pool, paper={(42, 50): replace(pairs, solved=solved)})
    taskset = sample(pool, 42, 7, 50, protocol="paper")
    rows = [(task.episode, task.start_row) for task in taskset.tasks]
    assert rows == sorted(rows)
    assert [task.start for task in taskset.tasks] == [tuple(start) for start in pairs.starts[:7].tolist()]
    assert [task.initially_solved for task in taskset.tasks] == [True, False] * 3 + [True]


def test_what_a_pool_does_not_hold_is_refused_with_what_it_holds(test_pool: PairPool):
    with pytest.raises(ProtocolError, match="Did you mean 'heldout'"):
        sample(test_pool, protocol="held-out")
    with pytest.raises(ProtocolError, match="success rule named 'neat'"):
        sample(test_pool, rule="neat")
    with pytest.raises(ProtocolError, match=r"\[25, 50, 75, 100\], not of 30"):
        sample(test_pool, offset=30)
    with pytest.raises(ProtocolError, match=r"not for \(7, 25\)"):
        sample(test_pool, seed=7, num_tasks=5, protocol="paper")
    with pytest.raises(ProtocolError, match="draws 12 tasks per seed"):
        sample(test_pool, num_tasks=13, protocol="paper")
    with pytest.raises(ProtocolError, match="the pool gives 40"):
        sample(test_pool, num_tasks=41)
    with pytest.raises(ProtocolError, match="at least one task"):
        sample(test_pool, num_tasks=0)


def test_difficulty_counts_solved_starts_long_crossings_and_paths():
    found = difficulty(line_tasks([-20, -5, 0.2, 10, -10]).tasks)
    assert found.tasks == 5
    assert found.initially_solved == 0.2
    assert found.hard == 0.4  # -20 and -10 lie in the other room, 200 and 100 px away
    assert found.path_px is not None
    assert found.path_px["q50"] == 100.0
    assert difficulty([replace(task, facts={}) for task in line_tasks([3]).tasks]).hard is None


def test_long_test_tasks_must_be_hard_taken_together():
    def tasks(hard: int, easy: int, **kind: int) -> TaskSet:
        return line_tasks([-20] * hard + [5] * easy, **({"offset": 100} | kind))

    assert check_difficulty([tasks(7, 3)]).hard == 0.7
    assert check_difficulty([tasks(6, 4), tasks(8, 2, seed=1)]).hard == 0.7
    with pytest.raises(ProtocolError, match=r"only 60\.0% do"):
        check_difficulty([tasks(6, 4)])
    with pytest.raises(ProtocolError, match=r"seeds \[0, 1\]\) only 65\.0% do"):
        check_difficulty([tasks(6, 4), tasks(7, 3, seed=1)])
    for free in (tasks(6, 4, offset=75), tasks(6, 4, seed=1000), replace(tasks(6, 4), protocol="paper")):
        assert check_difficulty([free]).hard == 0.6


def test_a_taskset_file_gives_back_its_tasks_or_refuses(test_pool: PairPool, tmp_path: Path):
    taskset = sample(test_pool)
    path = tmp_path / "tasks.json"
    save_taskset(taskset, path)
    assert load_taskset(path) == taskset
    assert load_taskset(path).digest == taskset.digest
    data = json.loads(path.read_text())
    data["taskset"]["tasks"][0]["goal"][0] += 1e-9
    path.write_text(json.dumps(data))
    with pytest.raises(ProtocolError, match="changed after it was written"):
        load_taskset(path)
    for broken in ("{", "[]", '{"digest": "x", "taskset": {}}'):
        path.write_text(broken)
        with pytest.raises(ProtocolError, match="expected a TaskSet"):
            load_taskset(path)
