"""Shortest ways: by hand, and against a dense search over the two gates of the doorway."""

import numpy as np
import pytest

from dualwm.envs.tworoom import TwoRoom

WORLD = TwoRoom()


def free_points(rng, count):
    points = rng.uniform(21, 203, (4 * count, 2))
    solid = (points[:, 0] > 100) & (points[:, 0] < 124) & ((points[:, 1] < 33.25) | (points[:, 1] > 64.75))
    doorway = np.stack([rng.uniform(100, 124, count // 5), rng.uniform(33.25, 64.75, count // 5)], axis=1)
    return rng.permutation(np.concatenate([points[~solid][: count - len(doorway)], doorway]))


def path(start, goal):
    return float(WORLD.path_px(np.array([start], float), np.array([goal], float))[0])


def test_ways_by_hand():
    assert path((50, 100), (80, 140)) == 50
    assert path((99, 49), (125, 49)) == 26
    assert path((100, 100), (124, 100)) == pytest.approx(2 * 35.25 + 24)
    assert path((70, 104.75), (154, 104.75)) == pytest.approx(50 + 24 + 50)
    assert path((100, 150), (100, 40)) == 110, "walking along the face is free"
    assert path((112, 49), (112, 60)) == 11
    assert path((50, 50), (112, 150)) == np.inf, "nobody can stand in the wall"


def test_paths_agree_with_a_dense_search_over_both_gates():
    rng = np.random.default_rng(0)
    starts, goals = free_points(rng, 600), free_points(rng, 600)
    gates = np.linspace(33.25, 64.75, 253)

    def to_gate(points, x, gates=gates):  # (n, gates): straight, as all of it lies in one convex piece
        return np.hypot(points[:, :1] - x, points[:, 1:] - gates)

    for a, b in ((starts, goals), (goals, starts)):
        cross = (a[:, 0] <= 100) & (b[:, 0] >= 124)
        passage = np.hypot(24.0, gates[:, None] - gates[None])
        dense = [
            (to_gate(p[None], 100.0)[0][:, None] + passage + to_gate(q[None], 124.0)[0][None]).min()
            for p, q in zip(a[cross], b[cross], strict=True)
        ]
        exact = WORLD.path_px(a[cross], b[cross])
        assert len(exact) > 50
        assert np.all(exact <= np.array(dense) + 1e-9)
        assert np.allclose(exact, dense, atol=2e-3)

        enters = (a[:, 0] <= 100) & (b[:, 0] > 100) & (b[:, 0] < 124)
        fine = np.linspace(33.25, 64.75, 20001)
        dense = (to_gate(a[enters], 100.0, fine) + to_gate(b[enters], 100.0, fine)).min(axis=1)
        exact = WORLD.path_px(a[enters], b[enters])
        assert len(exact) > 20
        assert np.all(exact <= dense + 1e-9)
        assert np.allclose(exact, dense, atol=2e-3)


def test_facts_tell_path_and_sides():
    assert WORLD.facts(np.array([100.0, 100]), np.array([124.0, 100])) == {
        "path_px": pytest.approx(94.5),
        "cross_room": 1.0,
    }
    assert WORLD.facts(np.array([50.0, 100]), np.array([80.0, 140])) == {"path_px": 50.0, "cross_room": 0.0}


@pytest.mark.parametrize("variant", WORLD.variants)
def test_the_expert_reaches_every_goal_at_full_speed(variant):
    rng = np.random.default_rng(2)
    starts, goals = free_points(rng, 1000), free_points(rng, 1000)
    rooms = WORLD.simulate(starts, range(1000), variant)
    steps = np.zeros(1000)
    for _ in range(90):
        going = ~(np.abs(rooms.states - goals).max(axis=1) < 1e-3)
        steps += going
        rooms.step(WORLD.expert_action(rooms.states, goals))
    assert np.abs(rooms.states - goals).max() < 1e-3, "it arrives and stays"
    assert np.all(steps <= WORLD.path_px(starts, goals) / 5 + 4), "no slower than 5 px a step"
