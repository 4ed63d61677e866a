"""Cube-Single: motion of OGBench's arm begun afresh at every step, success, behaviour, expert."""

import numpy as np
import pytest
from needs import needs_ogbench

from dualwm.envs import cube_core as core, episodes, get_world, replay
from dualwm.envs.cube import Cube
from dualwm.envs.cube_behaviour import Behaviour
from dualwm.errors import WorldError

pytestmark = needs_ogbench
WORLD = Cube()


@pytest.fixture(scope="module")
def start() -> np.ndarray:
    """Arm and block somewhere, at rest, (1, 41)."""
    return core.here().start(3)[None]


@pytest.fixture(scope="module")
def recorded() -> np.ndarray:
    """States (4, 181, 41) of episodes."""
    return np.stack([episode["state"] for episode in episodes(WORLD, range(4), 180)])


def moved(state: np.ndarray, *, block: tuple[float, float, float]) -> np.ndarray:
    there = state.copy()
    there[:, core.BLOCK] = block
    return there


# Motion


def test_it_moves_as_the_simulator_moves_from_nothing_but_the_state(start):
    import mujoco

    episode, bench = WORLD.episode(0, 40), core.here()
    model, data = bench.model, bench.data
    assert model.opt.timestep * 25 == pytest.approx(core.CONTROL_SECONDS)
    for row in range(0, 40, 3):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = episode["state"][row, :21], episode["state"][row, 21:]
        mujoco.mj_forward(model, data)
        bench.env.set_control(episode["action"][row].astype(float))
        for _ in range(25):
            mujoco.mj_step(model, data)
        assert episode["state"][row + 1].tolist() == [*data.qpos, *data.qvel]


def test_beginning_afresh_changes_little_against_the_environment_left_alone(start):
    """OGBench reads the gripper's place a physics step late, and its solver remembers forces."""
    bench, actions = core.here(), np.random.default_rng(0).uniform(-0.5, 0.5, (1, 30, 5))
    ours = replay(WORLD, start, actions)[0, 1:]
    bench.load(start[0])
    alone = []
    for action in actions[0]:
        bench.env.step(action)
        alone.append(bench.read())
    assert np.array_equal(alone[0], ours[0])
    assert np.abs(np.array(alone) - ours)[:, core.ARM].max() < 0.01
    assert np.abs(np.array(alone) - ours)[:, core.BLOCK].max() < 1e-6


def test_a_recorded_episode_replays_to_the_last_bit_from_any_row():
    episode = WORLD.episode(1, 60)
    for row in (0, 37):
        path = replay(WORLD, episode["state"][row : row + 1], episode["action"][None, row:-1])[0]
        assert path.tobytes() == episode["state"][row:].tobytes()


@pytest.mark.parametrize(("axis", "way"), [(0, 0.03), (1, -0.03), (2, -0.03)])
def test_an_action_moves_the_gripper_along_its_axis(start, axis, way):
    action = np.zeros((1, 5, 5))
    action[..., axis] = np.sign(way)
    bench = core.here()
    before, after = bench.gripper(start[0]), bench.gripper(replay(WORLD, start, action)[0, -1])
    gone = after - before
    assert gone[axis] * np.sign(way) > abs(way)
    assert np.abs(np.delete(gone, axis)).max() < 0.3 * np.abs(gone[axis])


def test_the_last_component_closes_and_opens_the_gripper(start):
    squeeze = np.zeros((1, 8, 5))
    squeeze[..., 4] = 1.0
    closed = replay(WORLD, start, squeeze)[0, -1]
    assert WORLD.proprio(closed[None])["proprio"][0, 6] > 0.8
    opened = replay(WORLD, closed[None], -squeeze)[0, -1]
    assert WORLD.proprio(opened[None])["proprio"][0, 6] < 0.1


def test_the_block_falls_and_comes_to_rest_on_the_table(start):
    led = replay(WORLD, moved(start, block=(0.4, 0.2, 0.2)), np.zeros((1, 30, 5)))[0]
    assert led[-1, core.BLOCK] == pytest.approx([0.4, 0.2, core.REST_HEIGHT], abs=0.005)


# Success


def test_four_centimetres_between_the_blocks_decide_wherever_the_arm_is(start):
    goal = core.here().start(4)[None]
    goal[:, core.BLOCK] = (0.4, 0.1, 0.02)
    states = np.concatenate([moved(start, block=(0.4, 0.1 + gap, 0.02)) for gap in (0.0, 0.039, 0.041)])
    reached, away = WORLD.success(states, np.repeat(goal, 3, axis=0))
    assert reached.tolist() == [True, True, False]
    assert away == pytest.approx([0, 0.039, 0.041])


def test_placed_also_wants_the_block_released_and_at_rest(start, recorded):
    goal = moved(start, block=(0.4, 0.1, 0.02))
    assert WORLD.success(goal, goal, "placed")[0].tolist() == [True]
    falling = goal.copy()
    falling[:, core.BLOCK_SPEED] = (0, 0, -0.05)
    assert WORLD.success(falling, goal, "placed")[1].tolist() == pytest.approx([0.1])
    rows = recorded.reshape(-1, core.STATE_WIDTH)
    carried = rows[rows[:, core.BLOCK.start + 2] > 0.1][:1].copy()
    carried[:, core.BLOCK_SPEED] = 0
    reached, away = WORLD.success(carried, carried, "placed")
    assert (reached.tolist(), away.tolist()) == ([False], [0.08])
    assert WORLD.success(carried, carried)[0].tolist() == [True]


# Behaviour, expert, facts


def test_the_block_is_carried_to_several_places_in_one_episode(recorded):
    for path in recorded:
        lies = path[:, core.BLOCK.start + 2] < 0.025
        carried = np.flatnonzero(np.diff(lies.astype(int)) == -1)
        assert len(carried) >= 2, "picked up at least twice"
        places = path[[0, *carried], core.BLOCK]
        assert np.hypot(*(places[-1] - places[0])[:2]) > 0.05


def test_both_kinds_of_oracle_act_and_noise_is_a_number_of_the_recipe():
    ends: dict[float, np.ndarray] = {}
    for share in (0.0, 1.0):
        (episode,) = episodes(Cube(behaviour=Behaviour(plan_share=share)), [5], 40)
        ends[share] = episode["action"][:-1]
        assert np.array_equal(episode["state"][0], WORLD.episode(5, 1)["state"][0])
    assert not np.array_equal(ends[0.0], ends[1.0])
    assert any(np.array_equal(WORLD.episode(5, 40)["action"][:-1], taken) for taken in ends.values())
    calm = Cube(behaviour=Behaviour(plan_share=0.0, noise_level=0.0)).episode(5, 40)["action"][:-1]
    assert (np.abs(calm[:, 4]) == 1).all(), "told to open or to close, and nothing between"
    assert (np.abs(ends[0.0][:, 4]) < 1).any()


def test_the_expert_brings_the_block_to_where_the_goal_has_it(recorded):
    starts, goals = recorded[:, 0], recorded[:, 100]
    simulation, solved = WORLD.simulate(starts, [0] * 4), np.zeros(4, np.bool_)
    for _ in range(125):
        states = simulation.step(WORLD.expert_action(simulation.states, goals))
        solved |= WORLD.success(states, goals)[0]
    assert solved.all()


def test_facts_say_how_far_the_block_has_to_go(start):
    found = WORLD.facts(moved(start, block=(0.4, 0.1, 0.02))[0], moved(start, block=(0.4, -0.2, 0.42))[0])
    assert found == pytest.approx({"block_m": 0.5, "lifted": 1.0})
    assert WORLD.facts(start[0], start[0])["lifted"] == 0.0


def test_misuse_is_answered_with_what_to_do(monkeypatch, start):
    with pytest.raises(WorldError, match=r"no success rule 'place'.*'placed'"):
        WORLD.success(start, start, "place")
    with pytest.raises(WorldError, match="1 to 512 pixels; asked for 1024"):
        WORLD.draw(start, 1024)
    with pytest.raises(WorldError, match="5 values that are not finite"):
        WORLD.simulate(start, [0]).step(np.full((1, 5), np.nan))
    monkeypatch.setattr(core, "version", lambda name: "1.1.0")
    with pytest.raises(WorldError, match=r"OGBench 1.2 moves it, and 1.1.0 .*dualwm\[mujoco\]"):
        core._ogbench()
    assert get_world("cube") == WORLD
