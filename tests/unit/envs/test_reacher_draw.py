"""Pictures of Reacher, drawn without a screen, and what is said where that does not work."""

import os
import subprocess
import sys
import threading
from importlib.metadata import PackageNotFoundError

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from needs import needs_mujoco, require

from dualwm.envs import get_world, gl
from dualwm.errors import WorldError

pytestmark = needs_mujoco
ID = "dualwm/Reacher-v0"


@pytest.fixture
def world():
    require("reacher")
    return get_world("reacher")


def at(*angles: float) -> np.ndarray:
    return np.array([[*angles, 0, 0, *angles]], float)


def bright(picture: np.ndarray) -> np.ndarray:
    """(rows, columns) of the arm: nothing else is as red."""
    return np.argwhere(picture[:, :, 0].astype(int) > picture[:, :, 2].astype(int) + 20)


def test_the_arm_points_where_its_angles_say(world):
    right, up = world.draw(np.concatenate([at(0, 0), at(np.pi / 2, 0)]), 64)
    assert bright(right)[:, 1].max() > 52 > 32 > bright(right)[:, 0].min() - 2
    assert bright(up)[:, 0].min() < 12
    assert abs(bright(up)[:, 1].mean() - 31.5) < 2


@pytest.mark.parametrize("angles", [(0.3, 0.8), (2.5, -1.0), (-2.0, 2.0)])
def test_planar_is_where_the_finger_tip_is_on_the_picture(world, angles):
    """Of two postures that differ in the wrist alone, the finger is where the second one's arm is farthest out."""
    state = at(*angles)
    (x, y), picture = world.planar(state)[0], world.draw(state, 128)[0]
    nearest = np.abs(bright(picture) + 0.5 - np.array([y, x]) * 128).max(axis=1).min()
    assert nearest < 2
    beyond = np.array([y, x]) * 128 + 8 * np.array([-np.sin(sum(angles)), np.cos(sum(angles))])
    assert np.abs(bright(picture) + 0.5 - beyond).max(axis=1).min() > 2, "there is no arm beyond the finger"


def test_no_target_is_drawn(world):
    """The model's target lies at the shoulder's place and is as wide as five links."""
    assert len(bright(world.draw(at(0, 0), 64)[0])) < 64 * 4


def test_pictures_are_averaged_over_areas(world):
    small, large = (world.draw(at(0.4, 0.9), size)[0].astype(float) for size in (64, 128))
    averaged = large.reshape(64, 2, 64, 2, 3).mean(axis=(1, 3))
    assert np.abs(small - averaged).mean() < 1
    moved = world.draw(at(0.41, 0.9), 64)[0].astype(float)
    assert np.abs(small - moved).sum() > 0, "a hundredth of a radian is seen"


def test_any_thread_gets_the_same_picture(world):
    expected, found = world.draw(at(1, 1), 64), []
    threads = [threading.Thread(target=lambda: found.append(world.draw(at(1, 1), 64))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [np.array_equal(expected, picture) for picture in found] == [True] * 3


def test_more_sizes_than_are_kept_ready_are_drawn_too(world):
    for size in (16, 24, 32, 40, 64, 16):
        assert world.draw(at(0, 0), size).shape == (1, size, size, 3)


def test_a_program_that_has_drawn_ends_without_a_word(world):
    code = "import numpy as np; from dualwm.envs import get_world as world\n"
    code += "print(world('reacher').draw(np.zeros((1, 6)), 32).mean() > 1)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("True", "", 0)


# Where it does not work


def test_what_is_missing_is_named_with_the_line_that_installs_it(monkeypatch):
    monkeypatch.delenv(gl.CHOSEN, raising=False)
    monkeypatch.delenv(gl.ASKED, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(gl, "_problem_of", lambda name: f"no {name} here")
    monkeypatch.setattr(gl, "_loads", lambda library: library == "libOpenGL.so.0")
    with pytest.raises(WorldError) as problem:
        gl.working.__wrapped__()
    assert "egl: no egl here; osmesa: no osmesa here" in str(problem.value)
    assert "apt-get install -y libegl1 libegl-mesa0 libgl1-mesa-dri " in str(problem.value)
    assert gl.CHOSEN not in os.environ


def test_a_candidate_that_was_asked_for_is_the_only_one_tried(monkeypatch):
    monkeypatch.delenv(gl.CHOSEN, raising=False)
    monkeypatch.setenv(gl.ASKED, "osmesa")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(gl, "_problem_of", lambda name: {"egl": None, "osmesa": "is broken"}[name])
    with pytest.raises(WorldError, match=r"osmesa: is broken\. Only osmesa was tried because MUJOCO_GL"):
        gl.working.__wrapped__()
    monkeypatch.delenv(gl.ASKED)
    monkeypatch.setenv(gl.CHOSEN, "")
    assert gl.working.__wrapped__() == os.environ[gl.CHOSEN] == "egl"


def test_a_candidate_is_tried_in_a_process_of_its_own():
    assert "invalid value for environment variable MUJOCO_GL: no_such" in str(gl._problem_of("no_such"))


@pytest.mark.parametrize("found", ["4.0.0", "3.16.2"])
def test_a_version_that_does_not_work_is_refused_with_how_to_replace_it(monkeypatch, found):
    monkeypatch.setattr(gl, "version", lambda name: found)
    with pytest.raises(
        WorldError, match=f"3.17 to below 4 is needed here, and {found} .*uninstall -y mujoco mujoco-core"
    ):
        gl.mujoco.__wrapped__()


def test_a_missing_library_is_answered_with_the_extra(monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(gl, "version", missing)
    with pytest.raises(WorldError, match=r"pip install .*\[mujoco\]"):
        gl.mujoco.__wrapped__()


# Gymnasium


@pytest.mark.parametrize("options", [{}, {"image_size": 96, "rule": "wrapped", "goal_env_steps": 20}])
def test_the_checker_finds_nothing_to_complain_about(world, options):
    env = gymnasium.make(ID, render_mode="rgb_array", **options)
    check_env(env.unwrapped)  # warnings are errors in this suite
    env.close()


def test_several_of_them_step_as_a_vector(world):
    envs = gymnasium.make_vec(ID, num_envs=3, image_size=32)
    observation, _ = envs.reset(seed=1)
    assert observation["pixels"].shape == (3, 32, 32, 3)
    _, reward, *_ = envs.step(envs.action_space.sample())
    assert reward.shape == (3,)
    envs.close()


def test_reset_options_pose_arm_and_goal_and_arriving_terminates(world):
    env = gymnasium.make(ID)
    observation, info = env.reset(seed=0, options={"state": (0, 0), "goal": (0.12, 0.0, 1.0, 1.0)})
    assert info["state"].tolist() == [0] * 6
    assert info["distance"] == pytest.approx(0.12)
    assert np.array_equal(observation["pixels"], world.draw(at(0, 0), 64)[0])
    assert np.array_equal(observation["goal"], world.draw(at(0.12, 0), 64)[0])
    for _ in range(20):
        states = env.unwrapped._simulation().states
        _, reward, terminated, _, _ = env.step(world.expert_action(states, at(0.12, 0))[0])
        if terminated:
            break
    assert (reward, terminated) == (1.0, True)
    with pytest.raises(WorldError, match="reset's state"):
        env.reset(options={"state": (0, 0, 0)})
