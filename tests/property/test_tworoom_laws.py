"""Laws of TwoRoom that hold for every start and every sequence of actions."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dualwm.envs import replay
from dualwm.envs.tworoom import TwoRoom

WORLD = TwoRoom()
LAWFUL = settings(max_examples=60, deadline=None, derandomize=True)

walks = st.tuples(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.6, -0.6]), st.sampled_from([0.0, 0.6, -0.6]))
"""Seed and drift of 64 random walks that start around the doorway."""


def in_wall(points, slack=0.0):
    x, y = points[..., 0], points[..., 1]
    return (x > 100 + slack) & (x < 124 - slack) & ((y < 33.25 - slack) | (y > 64.75 + slack))


def start_near_the_door(rng, count=64):
    points = np.stack([rng.uniform(85, 139, 4 * count), rng.uniform(21, 80, 4 * count)], axis=1)
    return points.astype(np.float32).astype(float)[~in_wall(points.astype(np.float32))][:count]


def walk_of(law, variant):
    seed, *drift = law
    rng = np.random.default_rng(seed)
    starts = start_near_the_door(rng)
    actions = np.clip(rng.normal(drift, 1.0, (len(starts), 25, 2)), -1, 1)
    return replay(WORLD, starts, actions, variant=variant), actions


@LAWFUL
@given(walks)
def test_swept_motion_never_passes_through_the_wall(law):
    path, _ = walk_of(law, "swept")
    shares = np.linspace(0, 1, 101)[:, None, None, None]
    between = path[None, :, :-1] * (1 - shares) + path[None, :, 1:] * shares
    assert not in_wall(between, slack=1e-4).any()


@LAWFUL
@given(walks, st.sampled_from(WORLD.variants))
def test_nobody_ever_stands_in_the_wall_or_outside_the_rooms_or_jumps_in_y(law, variant):
    path, _ = walk_of(law, variant)
    assert not in_wall(path).any()
    assert path[:, 1:].min() >= 21
    assert path[:, 1:].max() <= 203
    assert np.abs(np.diff(path[..., 1], axis=1)).max() <= 5 + 1e-4


@LAWFUL
@given(walks)
def test_swept_motion_is_never_longer_than_the_action(law):
    path, _ = walk_of(law, "swept")
    assert np.abs(np.diff(path, axis=1)).max() <= 5 + 1e-4


@LAWFUL
@given(walks, st.sampled_from(WORLD.variants))
def test_away_from_the_wall_a_step_is_five_times_the_action(law, variant):
    path, actions = walk_of(law, variant)
    aim = np.clip(path[:, :-1] + 5 * actions, 21, 203)
    far = (np.abs(path[:, :-1, 0] - 112) > 17.01) & (np.abs(aim[..., 0] - 112) > 12.01)
    assert np.allclose(path[:, 1:][far], aim[far], atol=1e-5)


@LAWFUL
@given(walks, st.sampled_from(WORLD.variants), st.integers(0, 24))
def test_a_recorded_position_is_the_whole_state(law, variant, row):
    path, actions = walk_of(law, variant)
    recorded = path.astype(np.float32)
    again = replay(WORLD, recorded[:, row], actions[:, row:], variant=variant)
    assert again.tobytes() == path[:, row:].tobytes()


@LAWFUL
@given(walks, st.sampled_from(WORLD.variants))
def test_the_mirrored_walk_is_the_mirror_of_the_walk(law, variant):
    """On a coarse grid all sums are exact; the centre line itself belongs to the right side, so it is left out."""
    rng = np.random.default_rng(law[0])
    starts = np.rint(start_near_the_door(rng) * 4) / 4 + 1 / 64
    starts = starts[~in_wall(starts)]
    actions = np.rint(rng.uniform(-1, 1, (len(starts), 25, 2)) * 16) / 16
    there = replay(WORLD, starts, actions, variant=variant)
    mirrored = replay(WORLD, np.stack([224 - starts[:, 0], starts[:, 1]], 1), actions * [-1, 1], variant=variant)
    kept = (there[..., 0] != 112).all(axis=1)
    assert kept.any()
    assert np.array_equal(mirrored[kept] * [-1, 1] + [224, 0], there[kept])


points = st.tuples(st.floats(21, 203), st.floats(21, 203)).filter(lambda p: not in_wall(np.array(p)))


@LAWFUL
@given(points, points, points)
def test_shortest_paths_are_a_metric_no_shorter_than_the_straight_line(a, b, c):
    def path(p, q):
        return float(WORLD.path_px(np.array([p]), np.array([q]))[0])

    straight = float(np.hypot(a[0] - b[0], a[1] - b[1]))
    assert path(a, b) >= straight - 1e-9
    assert path(a, b) == pytest.approx(path(b, a), abs=1e-6)
    assert path(a, c) <= path(a, b) + path(b, c) + 1e-6
    shares = np.linspace(0, 1, 2001)[:, None]
    blocked = in_wall(np.array(a) * (1 - shares) + np.array(b) * shares, slack=1e-3).any()
    assert not (blocked and path(a, b) < straight + 1e-9)


@LAWFUL
@given(walks)
def test_no_walk_beats_the_shortest_path(law):
    path, _ = walk_of(law, "swept")
    walked = np.hypot(*np.moveaxis(np.diff(path, axis=1), -1, 0)).sum(axis=1)
    assert np.all(WORLD.path_px(path[:, 0], path[:, -1]) <= walked + 1e-3)
