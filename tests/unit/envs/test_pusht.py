"""PushT: motion as published, states that are all there is, success, pushes, behaviour, expert."""

import json
from pathlib import Path

import numpy as np
import pytest
from needs import needs_pymunk

from dualwm.envs import episodes, get_world, pusht_core, pusht_push as push, replay
from dualwm.envs.pusht import PushT
from dualwm.envs.pusht_core import CENTRE
from dualwm.errors import WorldError

pytestmark = needs_pymunk
WORLD = PushT()
REFERENCE = Path(__file__).parents[2] / "golden" / "pusht_reference.npz"
"""`swm/PushT-v1` of stable-worldmodel 0.1.1, played open loop; docs/worlds/pusht.md says how it was made."""


def at(agent: tuple[float, float], block: tuple[float, float] = (256, 256), angle: float = 0.0) -> np.ndarray:
    """A state at rest."""
    return np.array([[*agent, *block, angle, 0, 0, 0, 0, 0]], float)


# Motion


def reference_gaps() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The fixture, and by how much agent place, block place and angle differ at each row of each sequence."""
    with np.load(REFERENCE) as file:
        kept = dict(file)
    kept["poses"] = kept["poses"].astype(np.float64)
    starts = np.zeros((len(kept["starts"]), 10))
    starts[:, :7] = kept["starts"]
    path = replay(WORLD, starts, kept["actions"])[..., :5]
    gaps = np.abs(path - kept["poses"])
    gaps[..., 4] = push.angle_gap(path[..., 4], kept["poses"][..., 4])
    return kept, gaps.max(axis=2)


def test_it_moves_as_the_published_environment_moves():
    kept, gaps = reference_gaps()
    steps = kept["actions"].shape[1]
    alone = kept["two_at_once_env_step"] == steps
    touched = kept["contact_env_steps"] > 0
    assert (steps, (alone & touched).sum() >= 12, (alone & ~touched).sum() >= 8) == (200, True, True)
    assert kept["contact_env_steps"][alone & touched].min() > 50
    assert gaps[alone].max() < 1e-3
    assert json.loads(str(kept["made_with"]))["stable-worldmodel"] == "0.1.1"


def test_where_two_things_touch_the_block_at_once_it_moves_as_published_until_then():
    """pymunk then goes by the order in which shapes met before, which no state holds."""
    kept, gaps = reference_gaps()
    until = kept["two_at_once_env_step"]
    both = np.flatnonzero(until < kept["actions"].shape[1])
    assert len(both) == 4
    assert max(gaps[row, : until[row] + 1].max() for row in both) < 1e-3


def test_a_recorded_episode_replays_to_the_last_bit_from_any_row():
    episode = WORLD.episode(1, 80)
    assert np.abs(episode["state"][:, 7:]).max() > 1, "the block was pushed"
    for row in (0, 33, 57):
        path = replay(WORLD, episode["state"][row : row + 1], episode["action"][None, row:-1])[0]
        assert path.tobytes() == episode["state"][row:].tobytes()


def test_a_pushed_block_set_down_again_goes_on_and_one_without_its_velocity_does_not():
    """In the middle of a push the block moves at the beginning of the next step, before anything touches it."""
    pushed = replay(WORLD, at((256, 230)), np.tile([0.0, 0.4], (1, 3, 1)))[:, -1]
    assert pushed[0, 8] > 10
    stopped = pushed.copy()
    stopped[:, 7:] = 0
    there, here = (replay(WORLD, state, np.full((1, 1, 2), [0.0, -1.0]))[0, -1, 3] for state in (pushed, stopped))
    assert there > here


def test_an_action_names_a_place_and_the_agent_settles_there():
    """Near critical damping of 10 / s, which after 0.1 s from rest would have gone 1 - 2/e of the way."""
    first = replay(WORLD, at((60, 60), (400, 400)), np.array([[[1.0, 0.5]]]))[0, -1]
    assert first[:2] == pytest.approx([60 + 100 * 0.264, 60 + 50 * 0.264], rel=0.05)
    rest = replay(WORLD, first[None], np.zeros((1, 30, 2)))[0, -1]
    assert np.abs(rest[5:7]).max() < 1e-3


def test_the_action_for_a_step_makes_that_step():
    moving = replay(WORLD, at((60, 60), (400, 400)), np.array([[[0.3, 0.5]]]))[:, -1]
    wanted = np.array([[-5.0, 12.0]])
    led = WORLD.simulate(moving, [0]).step(push.action_for(moving, wanted))
    assert led[0, :2] - moving[0, :2] == pytest.approx(wanted[0], abs=1e-9)


def test_actions_beyond_the_bounds_are_clamped():
    wild = WORLD.simulate(at((60, 60), (400, 400)), [0]).step(np.array([[3.0, -7.0]]))
    assert np.array_equal(wild, WORLD.simulate(at((60, 60), (400, 400)), [0]).step(np.array([[1.0, -1.0]])))


def test_the_block_stops_when_the_agent_leaves_it():
    led = replay(WORLD, at((256, 230)), np.array([[[0.0, 0.4]] * 4 + [[0.0, -1.0]] * 4]))[0]
    assert led[4, 3] > 270
    assert np.array_equal(led[-1, 2:5], led[-2, 2:5])
    assert not led[-1, 7:].any()


def test_an_untouched_block_stays_to_the_last_bit():
    led = replay(WORLD, at((60, 60), (300, 300), 1.234), np.random.default_rng(0).uniform(-0.2, 0.2, (1, 30, 2)))[0]
    assert (led[:, 2:5] == led[0, 2:5]).all()


# Success


def test_agent_and_block_count_as_one_point_of_four_coordinates():
    goal = at((100, 100))
    reached, away = WORLD.success(np.concatenate([at((112, 112), (266, 256)), at((112, 112), (268, 256))]), goal)
    assert away == pytest.approx([np.sqrt(388), np.sqrt(432)])
    assert reached.tolist() == [True, False]


def test_twenty_degrees_count_as_twenty_units_and_whole_turns_not_at_all():
    goals = np.repeat(at((100, 100), angle=0.1), 3, axis=0)
    states = np.concatenate(
        [at((100, 100), angle=a) for a in (0.1 + np.pi / 9 - 0.01, 0.1 - np.pi / 9 - 0.01, 0.1 + 2 * np.pi)]
    )
    reached, away = WORLD.success(states, goals)
    assert reached.tolist() == [True, False, True]
    assert away == pytest.approx([20 - 1.8 / np.pi, 20 + 1.8 / np.pi, 0.0], abs=1e-9)


def test_the_block_alone_counts_by_one_rule_and_rest_by_another():
    goal, far = at((100, 100)), at((400, 100))
    assert [bool(WORLD.success(far, goal, rule)[0][0]) for rule in WORLD.rules] == [False, True, False]
    moving = at((100, 100))
    moving[:, 5] = 30
    assert [bool(WORLD.success(moving, goal, rule)[0][0]) for rule in WORLD.rules] == [True, True, False]
    turning = at((100, 100))
    turning[:, 9] = 0.5
    assert [bool(WORLD.success(turning, goal, rule)[0][0]) for rule in WORLD.rules] == [True, True, False]
    assert WORLD.success(goal, moving, "hold")[0].tolist() == [True], "a goal's velocity is not asked for"


# Pushes


@pytest.mark.parametrize("contact", range(push.CONTACTS))
def test_what_a_push_is_said_to_do_is_what_it_does(contact):
    """An agent that keeps its seat for 32 units takes the block where the twist says."""
    seat, angle = push._SEAT[contact], 0.7
    c, s = np.cos(angle), np.sin(angle)
    agent = (256 + c * seat[0] - s * seat[1], 256 + s * seat[0] + c * seat[1])
    state = at(agent, angle=angle)
    start, speeds = push.centres(state)[0], np.array([4.0])
    advanced = 0.0
    while advanced < 32:
        steps, pushing = push.move(state, np.array([contact]), speeds)
        assert pushing.all()
        before = push._in_block(state)[0] @ push._OUT[contact]
        led = WORLD.simulate(state, [0]).step(push.action_for(state, steps))
        advanced += _advance(state, led, contact)
        state = led
        assert abs(push._in_block(state)[0] @ push._OUT[contact] - before) < 3
    turn = push._TURN[contact] * advanced
    a, b = push._screw(np.array(turn))
    drift = advanced * push._DRIFT[contact]
    x, y = a * drift[0] - b * drift[1], b * drift[0] + a * drift[1]
    said = start + np.array([c * x - s * y, s * x + c * y])
    assert np.hypot(*(push.centres(state)[0] - said)) < 3
    assert abs(state[0, 4] - angle - turn) < 0.06


def _advance(before: np.ndarray, after: np.ndarray, contact: int) -> float:
    """How far the contact has gone along the push, from how the block moved."""
    turn = (after[0, 4] - before[0, 4] + np.pi) % (2 * np.pi) - np.pi
    gone = push.centres(after)[0] - push.centres(before)[0]
    inward = push._turned(-push._OUT[contact : contact + 1], (before[:, 4] + after[:, 4]) / 2)[0]
    return float(gone @ inward + turn * push._TORQUE[contact])


def test_the_way_to_a_stand_leads_around_the_block():
    """From above the bar to the stem's end: around a corner, not through the block."""
    contact = push.CONTACTS - 2
    assert push._EDGE[contact].tolist() == [0.0, 120.0]
    state = at((256 + CENTRE[0], 200.0))
    for _ in range(30):
        steps, pushing = push.move(state, np.array([contact]), np.array([20.0]))
        if pushing.any():
            break
        state = WORLD.simulate(state, [0]).step(push.action_for(state, steps))
    assert pushing.all()
    assert state[0, 2:5].tolist() == [256, 256, 0], "nothing was touched on the way"


def test_the_best_push_towards_a_pose_straight_ahead_is_from_behind():
    state = at((100, 100))
    contact, advance, cost = push.choose(
        state, np.array([[256.0, 256.0 + CENTRE[1] + 56, 0.0]]), np.zeros((1, push.CONTACTS))
    )
    assert push._EDGE[contact[0]].tolist() == [0.0, 0.0]
    assert advance.tolist() == [56.0]
    assert cost[0] < 20


# Behaviour, expert, facts


def test_episodes_begin_at_rest_with_nothing_touching_and_stay_on_the_board():
    recorded = np.stack([episode["state"] for episode in episodes(WORLD, range(20), 100)])
    assert not recorded[:, 0, 5:].any()
    assert push.clear_of_block(recorded[:, 0]).all()
    off_board = (recorded[..., :2] < 0) | (recorded[..., :2] > 512)
    assert off_board.any(axis=2).mean() <= 0.005


def test_the_pusher_moves_and_turns_the_block_far():
    """The difficulty that is asked for at offset 100, on a few episodes; docs/worlds/pusht.md has it for many."""
    recorded = np.stack([episode["state"] for episode in episodes(WORLD, range(16), 150)])
    starts, goals = recorded[:, :50].reshape(-1, 10), recorded[:, 100:150].reshape(-1, 10)
    assert np.median(np.hypot(*(push.centres(goals) - push.centres(starts)).T)) >= 100
    assert np.median(push.angle_gap(starts[:, 4], goals[:, 4])) >= 0.6
    assert 1 - WORLD.success(starts, goals, "block")[0].mean() >= 0.8


def test_weak_contact_and_noise_are_numbers_of_the_recipe():
    from dualwm.envs.pusht_behaviour import Behaviour

    calm = PushT(behaviour=Behaviour(weak_share=0.0, noise_std=0.0)).episode(0, 60)
    assert WORLD.behaviour_law["weak_share"] == 0.15
    jerk = [np.abs(np.diff(world["action"][:-1], axis=0)).mean() for world in (calm, WORLD.episode(0, 60))]
    assert jerk[0] < 0.5 * jerk[1]


def test_the_expert_solves_most_tasks_of_fifty_steps():
    recorded = np.stack([episode["state"] for episode in episodes(WORLD, range(30), 60)])
    goals = recorded[:, 60]
    simulation, solved = WORLD.simulate(recorded[:, 10], [0] * 30), np.zeros(30, np.bool_)
    for _ in range(75):
        solved |= WORLD.success(simulation.step(WORLD.expert_action(simulation.states, goals)), goals)[0]
    assert solved.mean() >= 0.7


def test_facts_say_how_far_things_have_to_go_and_whether_the_block_must_be_touched():
    found = WORLD.facts(at((100, 100))[0], at((130, 140), (256, 256 + 2 * CENTRE[1]), np.pi)[0])
    assert found == pytest.approx({"block_px": 0.0, "turn_rad": np.pi, "agent_px": 50.0, "contact": 1.0})
    assert WORLD.facts(at((100, 100))[0], at((300, 140))[0])["contact"] == 0.0


def test_misuse_is_answered_with_what_to_do(monkeypatch):
    with pytest.raises(WorldError, match=r"no success rule 'poise'.*'pose'"):
        WORLD.success(at((0, 0)), at((0, 0)), "poise")
    with pytest.raises(WorldError, match="2 values that are not finite"):
        WORLD.simulate(at((0, 0)), [0]).step(np.full((1, 2), np.nan))
    monkeypatch.setattr(pusht_core, "version", lambda name: "6.11.1")
    with pytest.raises(WorldError, match=r"pymunk 7, and 6.11.1 .*dualwm\[pusht\]"):
        pusht_core._pymunk.__wrapped__()
    assert get_world("pusht") == WORLD
