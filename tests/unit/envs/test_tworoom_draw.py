"""Pictures of TwoRoom."""

import numpy as np
import pytest

from dualwm.envs.tworoom import TwoRoom
from dualwm.errors import WorldError

WORLD = TwoRoom()
FAR = np.array([[203.0, 203.0]])


def centroids(frames):
    """Where the dots are, in 224-px coordinates: the dot takes green away from white."""
    ink = 255.0 - frames[..., 1]
    size = frames.shape[1]
    at = (np.arange(size) + 0.5) * 224 / size - 0.5
    return np.stack([(ink.sum(1) * at).sum(1), (ink.sum(2) * at).sum(1)], axis=1) / ink.sum((1, 2))[:, None]


def test_the_background_is_the_described_one():
    grey = WORLD.draw(FAR, 224)[0, ..., 1]
    row = grey[100]
    black = set(range(10, 14)) | set(range(107, 118)) | set(range(210, 214))
    assert set(np.flatnonzero(row == 0)) == black
    assert set(np.flatnonzero(row == 255)) == set(range(224)) - black
    wall = grey[:, 112]
    assert set(np.flatnonzero(wall == 255)) == set(range(10)) | set(range(35, 64)) | set(range(214, 224))
    assert np.all(grey[:10] == 255), "outside the frame all is white"


def test_the_dot_is_red_and_as_wide_as_described():
    frame = WORLD.draw(np.array([[60.0, 150.0]]), 224)[0].astype(int)
    assert frame[150, 60].tolist() == [255, 0, 0]
    assert frame[150, 67].tolist() == [255, 100, 100]  # 255 (1 - exp(-1/2))
    assert frame[157, 67].tolist() == [255, 161, 161]  # 255 (1 - exp(-1))
    on_wall = WORLD.draw(np.array([[104.0, 49.0]]), 224)[0].astype(int)
    assert on_wall[67, 110].tolist() == [6, 0, 0]  # 255 exp(-(18^2 + 6^2) / 98), over black


@pytest.mark.parametrize("size", [7, 32, 64, 100, 224, 300])
def test_a_batch_gives_the_bytes_of_its_rows_drawn_one_by_one(size):
    rng = np.random.default_rng(size)
    states = np.concatenate([rng.uniform(21, 203, (150, 2)), [[0, 0], [224, 224], [21, 21], [203, 21], [21, 203]]])
    batch = WORLD.draw(states, size)
    assert batch.shape == (155, size, size, 3)
    for i in range(len(states)):
        assert batch[i].tobytes() == WORLD.draw(states[i : i + 1], size)[0].tobytes()


def test_a_recorded_float32_position_gives_the_picture_that_was_seen():
    room = WORLD.simulate(np.array([[50.3, 150.7]]), [0])
    room.step(np.array([[0.123, -0.77]]))
    assert np.array_equal(WORLD.draw(room.states, 64), WORLD.draw(room.states.astype(np.float32), 64))


@pytest.mark.parametrize("size", [32, 64, 224])
def test_drawing_the_dots_square_only_equals_blending_the_whole_picture(size):
    rng = np.random.default_rng(3)
    states = rng.uniform(21, 203, (40, 2))
    halves = [WORLD.draw(np.array([[x, 203.0]]), size)[0, ..., 1] for x in (40.0, 190.0)]
    empty = np.maximum(*halves).astype(float)  # the dot only takes green away
    at = (np.arange(size) + 0.5) * 224 / size - 0.5
    for state, frame in zip(states, WORLD.draw(states, size), strict=True):
        alpha = np.exp(-((at[None] - state[0]) ** 2 + (at[:, None] - state[1]) ** 2) / (2 * 7**2))
        assert np.abs(empty * (1 - alpha) - frame[..., 1]).max() <= 0.501
        assert np.abs(empty * (1 - alpha) + 255 * alpha - frame[..., 0]).max() <= 0.501


@pytest.mark.parametrize(("size", "tolerance"), [(224, 0.05), (128, 0.05), (64, 0.15)])
def test_the_dots_centroid_is_the_position_at_every_size(size, tolerance):
    rng = np.random.default_rng(4)
    states = np.stack([rng.uniform(45, 75, 300), rng.uniform(85, 180, 300)], axis=1)
    frames = WORLD.draw(states, size)
    rows = slice(round(52 * size / 224), round(206 * size / 224))
    columns = slice(round(17 * size / 224), round(103 * size / 224))
    room = np.full_like(frames, 255)
    room[:, rows, columns] = frames[:, rows, columns]
    assert np.abs(centroids(room) - states).max() < tolerance


@pytest.mark.parametrize("size", [32, 56, 112])
def test_smaller_pictures_are_area_averages_of_the_large_one(size):
    step = 224 // size
    large = WORLD.draw(FAR, 224)[0, : 224 // 2].astype(float)
    averaged = large.reshape(size // 2, step, size, step, 3).mean((1, 3))
    assert np.abs(WORLD.draw(FAR, size)[0, : size // 2] - averaged).max() <= 0.5


def test_moving_the_agent_changes_pixels_near_it_only():
    one, two = WORLD.draw(np.array([[60.0, 150.0], [60.5, 150.0]]), 224).astype(int)
    changed = np.argwhere((one != two).any(-1))
    assert len(changed) > 100
    assert np.abs(changed - [150, 60]).max() <= 26


def test_no_frames_are_drawn_for_no_states_and_no_size_is_refused():
    assert WORLD.draw(np.zeros((0, 2)), 64).shape == (0, 64, 64, 3)
    with pytest.raises(WorldError, match="side of at least 1"):
        WORLD.draw(FAR, 0)
