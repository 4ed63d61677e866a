"""The shell for users without a simulator: pictures in, actions out, one decision per chunk."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
import zoo_toy

from dualwm.data.normalize import Normalizer, Scale
from dualwm.errors import ControllerError
from dualwm.records import Goal, Observation
from dualwm.zoo.shell import Planner

PICTURE = np.zeros((8, 8, 3), np.uint8)


@dataclass
class Counting:
    """A controller whose n-th decision is three actions n, n + .1, n + .2; it keeps what it was shown."""

    cameras: tuple[str, ...] = ("front",)
    seen: list[Observation] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> int:
        self.goals.append(goal)
        return 0

    def act(self, memory: int, observation: Observation) -> tuple[Any, int, None]:
        self.seen.append(observation)
        return np.array([[[memory], [memory + 0.1], [memory + 0.2]]], np.float32), memory + 1, None


def test_a_decision_is_made_when_its_predecessors_actions_are_used_up_and_hears_them():
    controller = Counting()
    planner = Planner(controller)
    planner.reset(PICTURE)
    actions = [float(planner.act(PICTURE + i)[0]) for i in range(7)]
    assert actions == pytest.approx([0, 0.1, 0.2, 1, 1.1, 1.2, 2])
    assert [seen.frames["front"][0, 0, 0, 0] for seen in controller.seen] == [0, 3, 6]
    assert controller.seen[0].executed is None
    assert controller.seen[1].executed is not None
    assert controller.seen[1].executed[0, :, 0].tolist() == pytest.approx([0, 0.1, 0.2])


def test_a_reset_forgets_the_episode_before():
    controller = Counting()
    planner = Planner(controller)
    planner.reset(PICTURE)
    planner.act(PICTURE)
    planner.reset(PICTURE + 9)
    assert float(planner.act(PICTURE)[0]) == 0
    assert controller.seen[-1].executed is None
    assert controller.goals[-1].frames is not None
    assert controller.goals[-1].frames["front"].shape == (1, 8, 8, 3)


def test_goals_may_be_latents_and_proprio_travels_with_the_pictures():
    controller = Counting()
    planner = Planner(controller)
    goal = Goal(latent=np.ones((1, 4), np.float32))
    planner.reset(goal)
    assert controller.goals[-1] is goal
    planner.act(PICTURE, {"arm": np.array([1.0, 2.0])})
    assert controller.seen[-1].proprio["arm"].tolist() == [[1.0, 2.0]]
    assert controller.seen[-1].proprio["arm"].dtype == np.float32


def test_misuse_is_answered_with_what_to_do():
    with pytest.raises(ControllerError, match="before reset"):
        Planner(Counting()).act(PICTURE)
    with pytest.raises(ControllerError, match=r"Planner\(controller, camera=\.\.\.\)"):
        Planner(Counting(cameras=("left", "right"))).reset(PICTURE)
    planner = Planner(Counting(cameras=("left", "right")), camera="right")
    planner.reset(PICTURE)
    with pytest.raises(ControllerError, match=r"'right' should give a uint8 picture .* gave float64 \(8, 8, 3\)"):
        planner.act(PICTURE.astype(float))


def test_a_real_system_acts_through_the_shell_inside_the_action_box():
    system = zoo_toy.system()
    planner = Planner(system.controller(goal_offset_env_steps=25))
    start, goal = (system.observe(np.array([place])).frames["front"][0] for place in ([60.0, 60.0], [160.0, 90.0]))
    planner.reset(goal)
    actions = np.stack([planner.act(start) for _ in range(6)])
    assert actions.shape == (6, 2)
    assert np.abs(actions).max() <= 1
    assert len(np.unique(actions)) > 2


def test_a_goal_given_as_a_state_is_drawn_by_the_system_s_world_with_its_proprio():
    method = zoo_toy.method(cameras=(zoo_toy.FRONT,))
    system = zoo_toy.system(method)
    scales = {"action": system.normalizer.scales["action"], "proprio": Scale(mean=(100.0, 90.0), std=(30.0, 20.0))}
    system = replace(system, normalizer=Normalizer(scales=scales))
    place = np.array([[160.0, 90.0], [40.0, 50.0]])
    seen = system.observe(place)
    controller = system.controller()
    drawn = controller.start(Goal(state=place), [0, 1], 0)
    shown = controller.start(Goal(frames=seen.frames, proprio=seen.proprio), [0, 1], 0)
    assert torch.equal(drawn.goal_L.latent, shown.goal_L.latent)
    assert not torch.equal(drawn.goal_L.latent[0], drawn.goal_L.latent[1])
    worldless = replace(system, task={**system.task, "world": ""}).controller()
    with pytest.raises(ControllerError, match="a state alone can be reached by systems of a known world"):
        worldless.start(Goal(state=place), [0, 1], 0)


def test_pictures_of_another_size_are_refused_with_both_sizes():
    system = zoo_toy.system()
    planner = Planner(system.controller())
    with pytest.raises(ControllerError, match=r"sees pictures of 16 x 16 .* given \(8, 8, 3\)"):
        planner.reset(PICTURE)
