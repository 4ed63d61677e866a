"""Pictures of Cube, drawn without a screen from a simplified copy, and its Gymnasium environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from needs import needs_ogbench, require

from dualwm.envs import cube_core as core, cube_draw, get_world
from dualwm.errors import WorldError

pytestmark = needs_ogbench
ID = "dualwm/Cube-v0"


@pytest.fixture(scope="module")
def world():
    require("cube")
    return get_world("cube")


@pytest.fixture(scope="module")
def states(world) -> np.ndarray:
    return world.episode(0, 120)["state"][::20]


def red(picture: np.ndarray) -> np.ndarray:
    """(rows, columns) of the block: nothing else is red."""
    levels = picture.astype(int)
    return np.argwhere(levels[..., 0] > 1.6 * np.maximum(levels[..., 1], levels[..., 2]) + 20)


def test_planar_is_where_the_block_is_on_the_picture(world, states):
    for state in states:
        picture = world.draw(state[None], 128)[0]
        x, y = world.planar(state[None])[0] * 128
        if len(red(picture)) > 20:
            assert np.hypot(*(red(picture).mean(axis=0) + 0.5 - (y, x))) < 4
    assert sum(len(red(picture)) > 20 for picture in world.draw(states, 128)) >= 4


def test_no_target_is_drawn(world, states):
    """Red is nowhere but at the block, wherever the oracle's target was."""
    core.here().set_target(np.array([0.5, 0.25, 0.02, 1, 0, 0, 0]))
    picture, (x, y) = world.draw(states[:1], 128)[0], world.planar(states[:1])[0] * 128
    assert np.abs(red(picture) + 0.5 - (y, x)).max() < 12


def test_a_disc_on_the_table_says_where_the_gripper_is(world, states):
    """Of two pictures, with the disc and without, the difference is where a point below the gripper is seen."""
    state = next(state for state in states if core.here().gripper(state)[2] > 0.15)
    with_disc = world.draw(state[None], 128)[0].astype(int)
    bare = cube_draw.Studio(cube_draw._prepared().__copy__, core.here().model.camera("front_pixels").id)
    change = np.abs(bare.draw(state[None, :21], 128)[0].astype(int) - with_disc).max(axis=2) > 30
    below = core.here().gripper(state) * (1, 1, 0)
    x, y = cube_draw.on_picture(below[None])[0] * 128
    assert change.sum() > 5
    assert np.hypot(*(np.argwhere(change).mean(axis=0) + 0.5 - (y, x))) < 2


def test_few_facets_look_like_many(world, states):
    full = cube_draw.drawing_copy(core.here().model, hidden=("target_object_0",))
    few = cube_draw._prepared()
    assert full.mesh_facenum.sum() > 150_000
    assert few.mesh_facenum.sum() < 10_000
    assert few.mesh_facenum.min() > 0, "no part vanished"
    camera = full.camera("front_pixels").id
    detailed, simple = (
        cube_draw.Studio(model.__copy__, camera).draw(states[:3, :21], 64).astype(int) for model in (full, few)
    )
    assert np.abs(detailed - simple).mean() < 1.5
    assert (np.abs(detailed - simple).max(axis=3) > 40).mean() < 0.03


def test_corners_in_one_cell_become_one_and_flat_facets_go():
    """A square of two triangles with corners of their own, and a splinter: five cells, of which four are needed."""
    corners = np.array(
        [
            (0, 0, 0),
            (1, 0, 0),
            (0, 1, 0),
            (1, 1, 0),
            (0, 1, 0.001),
            (1, 0, 0.001),
            (5, 5, 5),
            (5, 5, 5.01),
            (5, 5.01, 5),
        ],
        np.float32,
    )
    facets = np.arange(9, dtype=np.int32).reshape(3, 3)
    few, kept = cube_draw.gathered(corners, facets, 0.1)
    assert len(few) == 5
    assert len(kept) == 2
    shared = set(kept[0].tolist()) & set(kept[1].tolist())
    assert {tuple(np.round(few[k], 2).tolist()) for k in shared} == {(1, 0, 0), (0, 1, 0)}
    assert np.abs(cube_draw._normals(few, kept)[sorted(set(kept.ravel().tolist()))]) == pytest.approx(
        np.tile([0, 0, 1], (4, 1)), abs=0.01
    )


def test_a_centimetre_of_the_block_is_seen(world, states):
    state = states[:1].copy()
    here = world.draw(state, 64)[0].astype(int)
    state[:, core.BLOCK.start + 1] += 0.01
    assert np.abs(world.draw(state, 64)[0].astype(int) - here).sum() > 100


# Gymnasium


@pytest.mark.parametrize("options", [{}, {"image_size": 96, "rule": "placed", "goal_env_steps": 60}])
def test_the_checker_finds_nothing_to_complain_about(world, options):
    env = gymnasium.make(ID, render_mode="rgb_array", **options)
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


def test_several_of_them_step_as_a_vector(world):
    envs = gymnasium.make_vec(ID, num_envs=2, image_size=32)
    observation, _ = envs.reset(seed=1)
    assert observation["pixels"].shape == (2, 32, 32, 3)
    _, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.shape == (2,)
    envs.close()


def test_reset_options_pose_arm_block_and_goal_and_arriving_terminates(world, states):
    env = gymnasium.make(ID)
    goal = states[0].copy()
    goal[core.BLOCK] = (0.45, 0.0, 0.02)
    start = states[0].copy()
    start[core.BLOCK] = (0.45, 0.0, 0.08)
    observation, info = env.reset(seed=0, options={"state": start[:21], "goal": goal})
    assert info["state"].tolist() == [*start[:21], *[0] * 20]
    assert info["distance"] == pytest.approx(0.06)
    assert np.array_equal(observation["goal"], world.draw(goal[None], 64)[0])
    for _ in range(8):
        _, reward, terminated, _, _ = env.step(np.zeros(5))
        if terminated:
            break
    assert (reward, terminated) == (1.0, True), "it fell onto the goal"
    with pytest.raises(WorldError, match="reset's state"):
        env.reset(options={"state": (0, 0, 0)})
    with pytest.raises(WorldError, match="at least 40 steps"):
        gymnasium.make(ID, goal_env_steps=10)
