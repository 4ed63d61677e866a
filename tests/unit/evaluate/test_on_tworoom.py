"""The seams to the rooms that evaluation only knows by protocol: a real data set and the real TwoRoom."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from dualwm.data.collect import collect
from dualwm.data.collections import collection_of, first_seed
from dualwm.data.store import Store
from dualwm.envs.base import episodes, get_world
from dualwm.errors import ControllerError
from dualwm.evaluate.closed_loop import run
from dualwm.evaluate.floors import floor, replay
from dualwm.evaluate.pool import PairPool, build_pool
from dualwm.evaluate.recorded import actions_in, actions_of, ways, ways_in
from dualwm.evaluate.tasks import sample_taskset

TWOROOM = get_world("tworoom")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return collect(
        TWOROOM,
        tmp_path_factory.mktemp("test"),
        record=partial(episodes, TWOROOM),
        episodes=60,
        seed=first_seed("test", 0, 60),
        max_env_steps=200,
        collection="test",
    )


@pytest.fixture(scope="module")
def pool(store: Store) -> PairPool:
    return build_pool(store.meta.collection, store, TWOROOM, min_pairs=80, min_episodes=60, paper_sample=50)


def test_pairs_are_rows_of_the_data_set(store: Store, pool: PairPool):
    pairs = pool.pairs[50]
    for row in (0, 7, len(pairs) - 1):
        positions = store.episode(int(pairs.episode[row])).columns["pos_agent"]
        assert (pairs.starts[row] == positions[pairs.start_row[row]]).all()
        assert (pairs.goals[row] == positions[pairs.start_row[row] + 50]).all()
    assert {collection_of(int(seed)) for seed in pairs.env_seed} == {"test"}


@pytest.mark.parametrize("variant", TWOROOM.variants)
def test_the_oracle_solves_every_task_and_standing_still_none(pool: PairPool, variant: str):
    for offset in (25, 100):
        taskset = sample_taskset(pool, seed=0, num_tasks=20, goal_offset_env_steps=offset)
        rates = {}
        for name in ("oracle", "noop", "random"):
            outcomes = run(
                TWOROOM, floor(name, TWOROOM, taskset, variant), taskset,
                size=16, variant=variant, system=name, weights_digest="",
            ).outcomes  # fmt: skip
            rates[name] = np.mean([outcome.success for outcome in outcomes])
        assert (rates["oracle"], rates["noop"]) == (1.0, 0.0)
        assert rates["random"] < 0.5


def test_replaying_the_recorded_actions_leads_to_every_goal(store: Store, pool: PairPool):
    taskset = sample_taskset(pool, seed=42, num_tasks=20, goal_offset_env_steps=50)
    recorded = [
        store.episode(task.episode).columns["action"][task.start_row : task.start_row + 50] for task in taskset.tasks
    ]
    played = run(
        TWOROOM, replay(TWOROOM, recorded), taskset,
        size=16, variant=TWOROOM.variants[0], system="replay", weights_digest="", keep_paths=True,
    )  # fmt: skip
    assert all(outcome.success and outcome.steps <= 50 for outcome in played.outcomes)
    for task in taskset.tasks:
        path = played.paths[task.index].states
        positions = store.episode(task.episode).columns["pos_agent"][task.start_row :]
        assert (path == positions[: len(path)]).all()


@pytest.mark.parametrize("offset", [25, 100])
def test_the_way_walked_again_is_the_recorded_one_and_replaying_it_solves_every_task(
    store: Store, pool: PairPool, offset: int
):
    taskset = sample_taskset(pool, seed=7, num_tasks=15, goal_offset_env_steps=offset)
    walked, recorded = ways(TWOROOM, taskset), ways_in(store, taskset)
    assert all((one == two).all() and len(one) == offset for one, two in zip(walked, recorded, strict=True))
    played = run(
        TWOROOM, floor("replay", TWOROOM, taskset, TWOROOM.variants[0]), taskset,
        size=16, variant=TWOROOM.variants[0], system="replay", weights_digest="",
    )  # fmt: skip
    assert all(outcome.success for outcome in played.outcomes)


def test_tasks_that_the_behaviour_of_today_does_not_walk_through_are_refused(pool: PairPool):
    taskset = sample_taskset(pool, seed=7, num_tasks=3, goal_offset_env_steps=25)
    x, y = taskset.tasks[1].goal
    moved = replace(taskset.tasks[1], goal=(x + 1.0, y))
    with pytest.raises(ControllerError, match="Task 1 was cut from rows"):
        ways(TWOROOM, replace(taskset, tasks=(taskset.tasks[0], moved, taskset.tasks[2])))


def test_marginal_actions_are_those_the_behaviour_takes_and_no_row_without_an_action(store: Store):
    drawn, stored = actions_of(TWOROOM), actions_in(store)
    for actions in (drawn, stored):
        assert np.isfinite(actions).all()
        assert actions.shape[1] == TWOROOM.action_dim
    # Another collection of the same behaviour: the same habits, within what 60 episodes can say.
    assert abs(drawn - drawn.mean(0)).mean() == pytest.approx(abs(stored - stored.mean(0)).mean(), rel=0.05)
