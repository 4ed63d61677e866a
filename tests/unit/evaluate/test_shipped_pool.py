"""The tasks that results are reported on, as shipped: enough of them, hard, fixed, and a function of the world."""

from pathlib import Path

import pytest

from dualwm.envs.base import get_world
from dualwm.evaluate.pool import PairPool
from dualwm.evaluate.tasks import check_difficulty, difficulty
from dualwm.zoo.evaluation import collection_pool, pool_of, tasksets

SEEDS = (0, 1, 42)
DIGESTS = {
    25: ("eb690de5dbd3f72e", "2e5a6e3d67758408", "fa5edeffa14e685f"),
    50: ("8753f86a693ebcf7", "c8f261599084fbfa", "0fa56b12d5738f35"),
    75: ("5c47f65167d0757b", "fe85539714f59018", "319a4fd5080a1472"),
    100: ("a1aa81aafe50d9a2", "f1f985481c5483e1", "5062f9f2dc2b5d7f"),
}
"""Of the TaskSets of 200 tasks, protocol heldout. They were fixed before any model was trained for release."""


@pytest.fixture(scope="module")
def pool() -> PairPool:
    return pool_of(get_world("tworoom"), "test")


def test_there_are_two_thousand_pairs_per_offset(pool: PairPool):
    assert {offset: len(pairs) >= 2000 for offset, pairs in pool.pairs.items()} == dict.fromkeys(
        (25, 50, 75, 100), True
    )


def test_long_test_tasks_lead_into_the_other_room(pool: PairPool):
    sets = tasksets(get_world("tworoom"), goal_offset_env_steps=100, seeds=SEEDS, num_tasks=200, protocol="heldout")
    found = check_difficulty(sets)
    assert found.hard is not None
    assert found.hard >= 0.7
    assert found.initially_solved == 0
    for taskset in sets:
        assert difficulty(taskset.tasks).hard >= 0.7
        assert len({task.episode for task in taskset.tasks}) == 200


@pytest.mark.parametrize("offset", [25, 50, 75, 100])
def test_the_reported_tasks_are_what_they_were(offset: int):
    sets = tasksets(get_world("tworoom"), goal_offset_env_steps=offset, seeds=SEEDS, num_tasks=200, protocol="heldout")
    assert tuple(taskset.digest[:16] for taskset in sets) == DIGESTS[offset]


def test_recording_the_collection_again_gives_the_shipped_pool(pool: PairPool, tmp_path: Path):
    again = collection_pool(get_world("tworoom"), "test", tmp_path)
    assert again.digest == pool.digest
