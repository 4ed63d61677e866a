"""`dualwm/TwoRoom-v0` in Gymnasium."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import dualwm.envs
from dualwm.envs.tworoom import TwoRoom
from dualwm.errors import WorldError

ID = "dualwm/TwoRoom-v0"


@pytest.mark.parametrize("options", [{}, {"image_size": 96, "collision": "swept", "random_goal": False}])
def test_the_checker_finds_nothing_to_complain_about(options):
    assert dualwm.envs is not None
    env = gymnasium.make(ID, render_mode="rgb_array", **options)
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


def test_it_is_found_from_a_bare_interpreter_by_module_and_id():
    env = gymnasium.make("dualwm.envs:dualwm/TwoRoom-v0", max_episode_steps=3)
    env.reset(seed=0, options={"state": (40, 150), "goal": (180, 150)})
    ends = [env.step(np.zeros(2, np.float32))[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]


def test_it_ends_at_100_steps_by_default():
    assert gymnasium.spec(ID).max_episode_steps == 100


def test_several_of_them_step_as_a_vector():
    envs = gymnasium.make_vec(ID, num_envs=3, image_size=32)
    observation, _ = envs.reset(seed=1)
    assert observation["pixels"].shape == (3, 32, 32, 3)
    _, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.shape == (3,)
    envs.close()


def test_reset_options_place_agent_and_goal_and_the_pictures_show_them():
    env = gymnasium.make(ID)
    observation, info = env.reset(seed=0, options={"state": (40, 150), "goal": np.array([180.0, 160.0])})
    assert info["state"].tolist() == [40, 150]
    assert info["distance"] == pytest.approx(np.hypot(140, 10))
    assert observation["proprio"].tolist() == [40, 150]
    world = TwoRoom()
    assert np.array_equal(observation["pixels"], world.draw(np.array([[40.0, 150.0]]), 64)[0])
    assert np.array_equal(observation["goal"], world.draw(np.array([[180.0, 160.0]]), 64)[0])
    other, _ = env.reset(seed=0, options={"state": (40, 150), "goal": (60, 60)})
    assert np.array_equal(other["pixels"], observation["pixels"]), "the goal is never drawn into the picture"


def test_arriving_terminates_with_reward_one():
    env = gymnasium.make(ID)
    env.reset(seed=0, options={"state": (40, 150), "goal": (61, 150)})
    _, reward, terminated, truncated, info = env.step(np.array([1, 0], np.float32))
    assert (reward, terminated, truncated, info["success"], info["distance"]) == (0.0, False, False, False, 16.0)
    _, reward, terminated, truncated, info = env.step(np.array([0.1, 0], np.float32))
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)


def test_goals_are_random_unless_asked_otherwise():
    def goals(**options):
        env = gymnasium.make(ID, **options)
        return {env.reset(seed=seed)[0]["goal"].tobytes() for seed in range(5)}

    assert len(goals()) == 5
    assert len(goals(random_goal=False)) == 1


def test_the_collision_rule_is_an_option():
    def stop(collision):
        env = gymnasium.make(ID, collision=collision)
        env.reset(seed=0, options={"state": (99, 150), "goal": (180, 150)})
        return float(env.step(np.array([1, 0], np.float32))[4]["state"][0])

    assert (stop("snap"), stop("swept")) == (99.5, 100.0)


def test_misuse_is_answered_with_what_to_do():
    env = gymnasium.make(ID).unwrapped
    with pytest.raises(WorldError, match="Call reset"):
        env.step(np.zeros(2, np.float32))
    with pytest.raises(WorldError, match=r"'state' and 'goal'.*'gaol'"):
        env.reset(options={"gaol": (50, 50)})
    with pytest.raises(WorldError, match="Row 0 is"):
        env.reset(options={"goal": (112, 150)})
    env.reset(seed=0)
    with pytest.raises(WorldError, match="2 finite numbers"):
        env.step(np.array([np.nan, 0.0]))
    with pytest.raises(WorldError, match="no dynamics variant 'bounce'"):
        gymnasium.make(ID, collision="bounce")
