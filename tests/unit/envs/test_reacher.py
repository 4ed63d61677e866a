"""Reacher: motion of dm_control's arm, success after either physics step, behaviour, expert."""

import numpy as np
import pytest
from needs import needs_mujoco

from dualwm.envs import episodes, get_world, replay
from dualwm.envs.reacher import Reacher
from dualwm.envs.reacher_core import WRIST_LIMIT, finger, model
from dualwm.errors import WorldError

pytestmark = needs_mujoco
WORLD = Reacher()


def at(*angles: float, half: tuple[float, float] | None = None) -> np.ndarray:
    """A state at rest, reached from the angles `half` a step ago."""
    return np.array([[*angles, 0, 0, *(half or angles)]], float)


# Motion


def test_it_moves_as_the_simulator_moves_step_by_step():
    """Two physics steps of 0.02 s with the torques held, each from nothing but angles and velocities."""
    import mujoco

    episode = WORLD.episode(3, 60)
    data = mujoco.MjData(model())
    assert model().opt.timestep == 0.02
    for row in range(60):
        data.qpos[:], data.qvel[:] = episode["state"][row, :2], episode["state"][row, 2:4]
        data.qacc_warmstart[:] = 0
        data.ctrl[:] = episode["action"][row]
        mujoco.mj_step(model(), data)
        half = data.qpos.copy()
        mujoco.mj_step(model(), data)
        assert episode["state"][row + 1].tolist() == [*data.qpos, *data.qvel, *half]


def test_a_recorded_episode_replays_to_the_last_bit_from_any_row():
    episode = WORLD.episode(1, 80)
    for row in (0, 33):
        path = replay(WORLD, episode["state"][row : row + 1], episode["action"][None, row:-1])[0]
        assert path.tobytes() == episode["state"][row:].tobytes()


def test_the_shoulder_is_free_and_the_wrist_stops():
    turning = replay(WORLD, at(0, 0), np.tile([1.0, 1.0], (1, 200, 1)))[0]
    assert turning[-1, 0] > 2 * np.pi
    assert turning[:, 1].max() < WRIST_LIMIT + 0.2


def test_without_torque_at_rest_nothing_moves():
    assert replay(WORLD, at(1, 2), np.zeros((1, 5, 2)))[0, -1].tolist() == at(1, 2)[0].tolist()


# Success


def test_both_joints_must_be_nearer_than_a_twentieth_of_a_radian():
    goals = np.repeat(at(1.0, 0.5), 4, axis=0)
    states = np.concatenate([at(1.04, 0.46), at(1.051, 0.5), at(1.0, 0.449), at(0, 0)])
    reached, missed = WORLD.success(states, goals)
    assert reached.tolist() == [True, False, False, False]
    assert missed == pytest.approx([0.04, 0.051, 0.051, 1.0])


def test_being_there_after_the_first_of_the_two_physics_steps_is_enough():
    passed_by = at(1.2, 0.5, half=(1.01, 0.49))
    assert WORLD.success(passed_by, at(1.0, 0.5))[0].tolist() == [True]
    not_at_once = at(1.2, 0.5, half=(1.0, 0.7))
    assert WORLD.success(not_at_once, at(1.0, 0.5))[0].tolist() == [False], "both joints, after the same step"


def test_a_goal_is_its_angles_alone():
    goal = np.array([[1.0, 0.5, 9.0, -9.0, 3.0, 3.0]])
    assert WORLD.success(at(1.0, 0.5), goal)[1].tolist() == [0.0]


def test_whole_turns_count_by_one_rule_and_not_by_the_other():
    turned = at(1.0 + 4 * np.pi, 0.5)
    assert WORLD.success(turned, at(1.0, 0.5), "joints")[0].tolist() == [False]
    reached, missed = WORLD.success(turned, at(1.0, 0.5), "wrapped")
    assert reached.tolist() == [True]
    assert missed == pytest.approx([0.0], abs=1e-9)
    assert WORLD.success(at(np.pi - 0.01, 0), at(0.01 - np.pi, 0), "wrapped")[1] == pytest.approx([0.02])


# Behaviour, expert, facts


def test_torques_are_uniform_and_episodes_begin_at_rest_in_any_posture():
    recorded = episodes(WORLD, range(60), 50)
    actions = np.concatenate([episode["action"][:-1] for episode in recorded])
    assert np.abs(actions.mean(axis=0)).max() < 0.05
    assert actions.std(axis=0) == pytest.approx([1 / np.sqrt(3)] * 2, abs=0.02)
    assert np.abs(np.corrcoef(actions[:-1].T, actions[1:].T)[:2, 2:]).max() < 0.06
    starts = np.array([episode["state"][0] for episode in recorded])
    assert not starts[:, 2:4].any()
    assert (starts[:, :2] == starts[:, 4:]).all()
    assert np.abs(starts[:, 0]).max() > 2.8
    assert 2.2 < np.abs(starts[:, 1]).max() < WRIST_LIMIT
    assert {len(episode["state"]) for episode in recorded} == {51}


def test_the_expert_arrives_and_stays():
    goals = np.array([episode["state"][40] for episode in episodes(WORLD, range(30), 40)])
    simulation = WORLD.simulate(np.repeat(at(0.3, -0.2), 30, axis=0), [0] * 30)
    goals[:, 1] = np.clip(goals[:, 1], -2.5, 2.5)
    for _ in range(60):
        states = simulation.step(WORLD.expert_action(simulation.states, goals))
    assert WORLD.success(states, goals)[0].all()


def test_facts_say_how_far_joints_and_finger_tip_have_to_go():
    found = WORLD.facts(at(0, 0)[0], at(np.pi / 2, 0)[0])
    assert found == pytest.approx({"joint_rad": np.pi / 2, "tip_m": 0.24 * np.sqrt(2)})
    assert finger(np.array([[0.0, np.pi / 2]]))[0] == pytest.approx([0.12, 0.12])


def test_misuse_is_answered_with_what_to_do():
    with pytest.raises(WorldError, match=r"no success rule 'joint'.*'joints'"):
        WORLD.success(at(0, 0), at(0, 0), "joint")
    with pytest.raises(WorldError, match="1 to 512 pixels; asked for 1024"):
        WORLD.draw(at(0, 0), 1024)
    with pytest.raises(WorldError, match="2 values that are not finite"):
        WORLD.simulate(at(0, 0), [0]).step(np.full((1, 2), np.nan))
    assert get_world("reacher") == WORLD
