"""`dualwm/Sokoban-v0` in Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dualwm.envs
from dualwm.envs.sokoban import Sokoban
from dualwm.errors import WorldError

ID = "dualwm/Sokoban-v0"
STATE, GOAL = (1, 1, 1, 2, 7, 7), (1, 6, 1, 7, 7, 7)


@pytest.mark.parametrize("options", [{}, {"image_size": 64, "rule": "exact", "goal_env_steps": 20}])
def test_the_checker_finds_nothing_to_complain_about(options):
    assert dualwm.envs is not None
    env = gymnasium.make(ID, render_mode="rgb_array", **options)
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


def test_several_of_them_step_as_a_vector():
    envs = gymnasium.make_vec(ID, num_envs=3, image_size=32)
    observation, _ = envs.reset(seed=1)
    assert observation["pixels"].shape == (3, 32, 32, 3)
    _, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.shape == (3,)
    envs.close()


def test_reset_options_arrange_the_board_and_the_goal_is_seen_in_its_own_picture_only():
    env = gymnasium.make(ID)
    observation, info = env.reset(seed=0, options={"state": STATE, "goal": GOAL})
    assert info["state"].tolist() == list(STATE)
    assert info["distance"] == 5 + 5
    world = Sokoban()
    assert np.array_equal(observation["pixels"], world.draw(np.array([STATE], float), 80)[0])
    assert np.array_equal(observation["goal"], world.draw(np.array([GOAL], float), 80)[0])


@pytest.mark.parametrize(("rule", "steps"), [("gap4", 3), ("exact", 5)])
def test_arriving_terminates_with_reward_one(rule, steps):
    env = gymnasium.make(ID, rule=rule)
    env.reset(seed=0, options={"state": STATE, "goal": GOAL})
    ends = [env.step(4)[1:3] for _ in range(steps)]
    assert ends == [(0.0, False)] * (steps - 1) + [(1.0, True)]


def test_goals_can_be_reached_and_are_not_reached_at_once():
    env = gymnasium.make(ID, goal_env_steps=40).unwrapped
    world = Sokoban()
    for seed in range(8):
        _, info = env.reset(seed=seed)
        assert not info["success"]
        assert world.path_env_steps(info["state"][None], env._goal)[0] <= 40


def test_misuse_is_answered_with_what_to_do():
    env = gymnasium.make(ID).unwrapped
    with pytest.raises(WorldError, match="goal_env_steps=3"):
        gymnasium.make(ID, goal_env_steps=3)
    with pytest.raises(WorldError, match="Row 0 is"):
        env.reset(options={"goal": (3, 3, 1, 2, 7, 7)})
    env.reset(seed=0)
    for action in (5, -1, 1.5, np.ones(5)):
        with pytest.raises(WorldError, match="whole number from 0 to 4"):
            env.step(action)
