from dataclasses import replace

import numpy as np
import pytest
from evaluate_toy import WORLD, IntegratorWorld, go, line_tasks

from dualwm.errors import ControllerError
from dualwm.evaluate.floors import floor, noop, oracle, random, replay
from dualwm.records import Goal, Observation

NOTHING = Observation(frames={})


def actions_of(controller, tasks: list[int], seed: int, decisions: int = 3) -> np.ndarray:
    memory = controller.start(Goal(), tasks, seed)
    chunks = []
    for _ in range(decisions):
        chunk, memory, _ = controller.act(memory, NOTHING)
        chunks.append(chunk)
    return np.concatenate(chunks, axis=1)


def test_random_actions_are_a_function_of_seed_task_and_step():
    controller = random(WORLD)
    whole = actions_of(controller, [0, 1, 2, 3], seed=5)
    assert (actions_of(controller, [3, 1], seed=5) == whole[[3, 1]]).all()
    assert len(np.unique(whole)) == whole.size
    assert not np.isin(actions_of(controller, [0, 1, 2, 3], seed=6), whole).any()
    memory = controller.start(Goal(), [0, 1, 2, 3], 5)
    _, memory, _ = controller.act(memory, NOTHING)
    assert (controller.act(memory.take(np.array([2])), NOTHING)[0] == whole[[2], 1:2]).all()


def test_random_actions_fill_the_action_space_evenly():
    actions = actions_of(random(IntegratorWorld(action_low=-3.0, action_high=1.0)), list(range(200)), 0, 20)
    assert actions.min() >= -3
    assert actions.max() <= 1
    assert abs(actions.mean() + 1) < 0.05
    assert abs(actions.std() - 4 / np.sqrt(12)) < 0.05
    one_hot = actions_of(random(IntegratorWorld(action_dim=4, discrete=True)), list(range(200)), 0, 20)
    assert (one_hot.sum(-1) == 1).all()
    assert set(np.unique(one_hot).tolist()) == {0.0, 1.0}
    assert abs(one_hot.mean((0, 1)) - 0.25).max() < 0.03


def test_noop_stands_still():
    run = go(noop(WORLD), line_tasks([5, 0.3]), keep_paths=True)
    assert [o.success for o in run.outcomes] == [False, True]
    assert (run.paths[0].states == 0).all()
    with pytest.raises(ControllerError, match="noop_action"):
        noop(IntegratorWorld(discrete=True))


def test_the_oracle_takes_the_shortest_way():
    taskset = line_tasks([3, 17.25, 60, -9])
    outcomes = go(oracle(WORLD, taskset, "plain"), taskset).outcomes
    assert [(o.success, o.steps) for o in outcomes] == [(True, 3), (True, 17), (False, 50), (True, 9)]


def test_the_oracle_gives_the_same_action_when_asked_twice():
    taskset = line_tasks([3.5, 8])
    controller = oracle(WORLD, taskset, "plain")
    _, memory, _ = controller.act(controller.start(Goal(), [0, 1], 0), NOTHING)
    observation = Observation(frames={}, executed=np.full((2, 3, 2), [1, 0], np.float32))
    first, second = controller.act(memory, observation)[0], controller.act(memory, observation)[0]
    assert first.tolist() == second.tolist() == [[[0.5, 0]], [[1, 0]]]


def test_a_world_without_an_expert_has_no_oracle():
    with pytest.raises(ControllerError, match="Compare with replay"):
        floor("oracle", IntegratorWorld(), line_tasks([1]), "plain")
    with pytest.raises(ControllerError, match="Did you mean 'random'"):
        floor("randon", WORLD, line_tasks([1]), "plain")


def test_replay_goes_through_the_recorded_states_and_then_stands_still():
    generator = np.random.default_rng(0)
    recorded = [generator.uniform(-1, 1, (25, 2)).astype(np.float32) for _ in range(3)]
    ends = [np.cumsum(actions.astype(np.float64), axis=0)[-1] for actions in recorded]
    taskset = line_tasks([1, 2, 3])
    tasks = tuple(replace(task, goal=tuple(end.tolist())) for task, end in zip(taskset.tasks, ends, strict=True))
    run = go(replay(WORLD, recorded), replace(taskset, tasks=tasks, rule="nearer"), keep_paths=True)
    assert all(o.success and o.steps <= 25 for o in run.outcomes)
    far = replace(taskset, tasks=tuple(replace(task, goal=(99.0, 99.0)) for task in taskset.tasks))
    paths = go(replay(WORLD, recorded), far, keep_paths=True).paths
    assert all(np.allclose(paths[i].states[25:], ends[i]) for i in range(3))
