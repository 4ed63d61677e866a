"""TwoRoom's motion, by hand. The wall the agent's centre feels is 100 < x < 124 outside 33.25 <= y <= 64.75."""

import numpy as np
import pytest

from dualwm.envs.tworoom import TwoRoom
from dualwm.errors import WorldError


def after(start, action, variant="snap"):
    room = TwoRoom().simulate(np.array([start], float), [0], variant)
    return tuple(room.step(np.array([action], float))[0].tolist())


@pytest.mark.parametrize(
    ("start", "action", "end"),
    [
        ((99, 150), (1, 0), (99.5, 150)),
        ((99, 49), (1, 0), (104, 49)),
        ((125, 150), (-1, 0), (124.5, 150)),
        ((125, 49), (-1, 0), (120, 49)),
        ((95, 150), (1, 0), (100, 150)),
        ((129, 150), (-1, 0), (124, 150)),
        ((99, 150), (1, 1), (99.5, 155)),
        ((99, 64.75), (1, 0), (104, 64.75)),
        ((99, 64.8125), (1, 0), (99.5, 64.8125)),
        ((99, 33.25), (1, 0), (104, 33.25)),
        ((99, 33.1875), (1, 0), (99.5, 33.1875)),
    ],
)
def test_snap_sets_the_agent_down_half_a_pixel_before_the_face_unless_it_ends_in_the_door_band(start, action, end):
    assert after(start, action) == end


def test_snap_throws_the_agent_back_to_its_own_side_when_it_leaves_the_band_sideways():
    assert after((111, 63), (0, 1)) == (99.5, 68)
    assert after((112, 63), (0, 1)) == (124.5, 68)
    assert after((113, 35), (-1, -1)) == (124.5, 30)


def test_snap_tests_the_end_only_so_a_post_can_be_cut():
    assert after((99.5, 67), (1, -1)) == (104.5, 62)


@pytest.mark.parametrize(
    ("start", "action", "end"),
    [
        ((99, 150), (1, 0), (100, 150)),
        ((125, 150), (-1, 0.5), (124, 152.5)),
        ((99.5, 67), (1, -1), (100, 62)),
        ((124.5, 67), (-1, -1), (124, 62)),
        ((111, 63), (1, 1), (116, 64.75)),
        ((112, 35), (0, -1), (112, 33.25)),
        ((99, 63), (1, 1), (104, 64.75)),
        ((102, 63), (-1, 1), (97, 64.75)),
        ((101, 64), (-1, 1), (96, 64.75)),
        ((99, 49), (1, 0), (104, 49)),
        ((100, 64.75), (1, 0), (105, 64.75)),
        ((100, 150), (0, 1), (100, 155)),
    ],
)
def test_swept_stops_only_the_motion_across_what_it_meets_first(start, action, end):
    assert after(start, action, "swept") == end


@pytest.mark.parametrize("variant", TwoRoom().variants)
def test_positions_are_clamped_to_21_and_203_and_actions_to_one(variant):
    assert after((22, 202), (-1, 1), variant) == (21, 203)
    assert after((202, 22), (1, -1), variant) == (203, 21)
    assert after((50, 150), (7, -9), variant) == (55, 145)


def test_a_start_nearer_to_the_border_than_the_clamp_is_brought_in_by_the_first_step():
    assert after((14, 209), (0, 0)) == (21, 203)


@pytest.mark.parametrize("variant", TwoRoom().variants)
def test_a_room_moves_alike_alone_and_in_company(variant):
    rng = np.random.default_rng(1)
    starts = np.stack([rng.uniform(21, 99, 64), rng.uniform(21, 90, 64)], axis=1)
    actions = rng.uniform(-1, 1, (30, 64, 2)) + np.array([0.4, 0.0])
    world = TwoRoom()
    together = world.simulate(starts, range(64), variant)
    alone = [world.simulate(starts[i : i + 1], [i], variant) for i in range(64)]
    for action in actions:
        states = together.step(action)
        singles = np.concatenate([room.step(action[i : i + 1]) for i, room in enumerate(alone)])
        assert states.tobytes() == singles.tobytes()
    assert (states[:, 0] > 124).any(), "some rooms should have gone through the door"


def test_taken_rooms_go_on_independently():
    room = TwoRoom().simulate(np.array([[50.0, 150], [60, 150], [70, 150]]), [0, 1, 2], "swept")
    before = room.states
    taken = room.take(np.array([2, 0]))
    taken.step(np.ones((2, 2)))
    assert taken.states.tolist() == [[75, 155], [55, 155]]
    assert room.states is before
    assert before.tolist() == [[50, 150], [60, 150], [70, 150]]


def test_success_is_a_distance_below_16_px():
    reached, gap = TwoRoom().success(
        np.array([[50.0, 50], [50, 50], [50, 50]]), np.array([[66.0, 50], [65.99, 50], [50, 34.5]])
    )
    assert reached.tolist() == [False, True, True]
    assert gap == pytest.approx([16, 15.99, 15.5])


def test_unknown_names_and_impossible_starts_are_refused_with_the_remedy():
    world = TwoRoom()
    with pytest.raises(WorldError, match=r"no dynamics variant 'swep'.*'swept'"):
        world.simulate(np.array([[50.0, 50.0]]), [0], "swep")
    with pytest.raises(WorldError, match=r"no success rule 'reach8'.*'reach16'"):
        world.success(np.zeros((1, 2)), np.zeros((1, 2)), "reach8")
    with pytest.raises(WorldError, match="no camera 'top'"):
        world.draw(np.zeros((1, 2)), 64, "top")
    with pytest.raises(WorldError, match=r"Row 1 is \(112.0, 150.0\).*doorway"):
        world.simulate(np.array([[50.0, 50.0], [112, 150]]), [0, 1])
    with pytest.raises(WorldError, match=r"shape \(1, 3\)"):
        world.simulate(np.zeros((1, 3)), [0])
    with pytest.raises(WorldError, match="1 values that are not finite"):
        world.simulate(np.array([[np.nan, 50.0]]), [0])
