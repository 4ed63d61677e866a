"""Pictures of PushT and its Gymnasium environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from needs import needs_pymunk

from dualwm.envs.pusht import PushT
from dualwm.envs.pusht_core import AGENT_RADIUS, BAR, STEM
from dualwm.errors import WorldError

WORLD = PushT()
ID = "dualwm/PushT-v0"
BLUE, SLATE = (65, 105, 225), (119, 136, 153)


def at(agent: tuple[float, float], block: tuple[float, float] = (256, 256), angle: float = 0.0) -> np.ndarray:
    return np.array([[*agent, *block, angle, 0, 0, 0, 0, 0]], float)


def painted_finely(state: np.ndarray, size: int, finer: int = 16) -> np.ndarray:
    """The picture by definition: every fine point takes the colour of what lies there, then areas are averaged."""
    places = (np.arange(size * finer) + 0.5) * 512 / (size * finer)
    x, y = np.meshgrid(places, places)
    grey = np.where((np.abs(x - 255.5) < 248.5) & (np.abs(y - 255.5) < 248.5), 255.0, 211.0)
    grey[(np.abs(x - 255.5) > 252.5) | (np.abs(y - 255.5) > 252.5)] = 255.0
    picture = np.repeat(grey[..., None], 3, axis=2)
    ax, ay, bx, by, angle = state[:5]
    c, s = np.cos(angle), np.sin(angle)
    own_x, own_y = c * (x - bx) + s * (y - by), c * (y - by) - s * (x - bx)
    for left, top, right, bottom in (BAR, STEM):
        picture[(own_x > left) & (own_x < right) & (own_y > top) & (own_y < bottom)] = SLATE
    picture[np.hypot(x - ax, y - ay) < AGENT_RADIUS] = BLUE
    return picture.reshape(size, finer, size, finer, 3).mean(axis=(1, 3))


@pytest.mark.parametrize("size", [32, 64, 96])
def test_a_picture_is_nearly_its_area_average(size):
    states = np.concatenate(
        [at((100, 130), (300, 220), a) for a in (0, 0.4, 1.1, 2.0, 3.6, 5.5)] + [at((2, 300), (40, 480), 1)]
    )
    gap = np.abs(np.stack([painted_finely(state, size) for state in states]) - WORLD.draw(states, size))
    assert gap.mean() < 0.3
    assert gap.max() < 30, "corners, and the small round agent"


def test_a_unit_of_motion_and_two_degrees_are_seen():
    here = WORLD.draw(at((100, 100)), 64).astype(int)
    for other in (at((101, 100)), at((100, 100), (257, 256)), at((100, 100), angle=0.035)):
        assert np.abs(WORLD.draw(other, 64) - here).sum() > 20


def test_no_goal_is_drawn_and_the_look_is_walls_block_and_agent():
    picture = WORLD.draw(at((60, 60), (256, 256)), 256)[0]
    colours = {tuple(colour) for colour in picture.reshape(-1, 3).tolist()}
    assert {(255, 255, 255), (211, 211, 211), BLUE, SLATE} <= colours
    greenish = picture[..., 1].astype(int) > picture[..., 2].astype(int) + 5
    assert not greenish.any(), "the original's goal is light green"


def test_what_is_off_the_board_is_not_in_the_picture():
    gone = WORLD.draw(at((-300, 1000), (5000, -5000)), 64)
    assert np.array_equal(gone, WORLD.draw(at((-200, -200), (900, 900)), 64))
    assert len(np.unique(gone[0, 8:56, 8:56])) == 1


def test_planar_is_where_the_block_is_on_the_picture():
    for angle in (0.0, 2.2):
        x, y = WORLD.planar(at((20, 20), (300, 200), angle))[0] * 128
        slate = np.argwhere(
            np.abs(WORLD.draw(at((20, 20), (300, 200), angle), 128)[0].astype(int) - SLATE).max(axis=2) < 3
        )
        assert np.hypot(*(slate.mean(axis=0) + 0.5 - (y, x))) < 4


def test_sizes_that_are_none_are_refused():
    with pytest.raises(WorldError, match="at least 1 pixel; asked for 0"):
        WORLD.draw(at((0, 0)), 0)
    assert WORLD.draw(at((100, 100)), 1).shape == (1, 1, 1, 3)


# Gymnasium


@needs_pymunk
@pytest.mark.parametrize("options", [{}, {"image_size": 96, "rule": "block", "goal_env_steps": 20}])
def test_the_checker_finds_nothing_to_complain_about(options):
    env = gymnasium.make(ID, render_mode="rgb_array", **options)
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


@needs_pymunk
def test_several_of_them_step_as_a_vector():
    envs = gymnasium.make_vec(ID, num_envs=3, image_size=32)
    observation, _ = envs.reset(seed=1)
    assert observation["pixels"].shape == (3, 32, 32, 3)
    _, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.shape == (3,)
    envs.close()


@needs_pymunk
def test_reset_options_pose_everything_and_arriving_terminates():
    env = gymnasium.make(ID)
    release = at((100, 100), (300, 300), 1.0)[0, :7]
    observation, info = env.reset(seed=0, options={"state": release, "goal": at((160, 100), (300, 300), 1.0)[0]})
    assert info["state"].tolist() == [*release, 0, 0, 0]
    assert info["distance"] == pytest.approx(60)
    assert np.array_equal(observation["goal"], WORLD.draw(at((160, 100), (300, 300), 1.0), 64)[0])
    for _ in range(5):
        _, reward, terminated, _, _ = env.step(np.array([0.6, 0.0]))
        if terminated:
            break
    assert (reward, terminated) == (1.0, True)
    with pytest.raises(WorldError, match="reset's state should hold places on PushT's board"):
        env.reset(options={"state": (9999, 0, 0, 0, 0, 0, 0)})
    with pytest.raises(WorldError, match="at least 1 step"):
        gymnasium.make(ID, goal_env_steps=0)
