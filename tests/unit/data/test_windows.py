from dataclasses import replace

import numpy as np
import pytest
import torch
from data_toy import ACTION, COLUMNS, DRAWN, POSITION, draw, episode, frame_says, meta, position, write
from hypothesis import given, settings, strategies as st

from dualwm.data.store import Store
from dualwm.data.windows import Windows, needed_rows, window_counts
from dualwm.data.writer import Writer
from dualwm.errors import DataError

LENGTHS = [1, 7, 26, 3, 12, 26, 19, 2, 8]


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    return write(tmp_path_factory.mktemp("windows") / "set", LENGTHS)


def brute_force(episodes, frame_skip: int, low_steps: int, last_action_unused: bool, stride: int):
    """Every (episode, start row) whose window fits, in order, told row by row."""
    found = []
    for number in episodes:
        for start in range(0, LENGTHS[number], stride):
            last_frame = start + (low_steps - 1) * frame_skip
            last_row = last_frame if last_action_unused else last_frame + frame_skip - 1
            if last_row < LENGTHS[number]:
                found.append((number, start))
    return found


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    episodes=st.permutations(range(len(LENGTHS))).flatmap(
        lambda order: st.integers(1, len(order)).map(lambda count: order[:count])
    ),
    frame_skip=st.integers(1, 5),
    low_steps=st.integers(1, 5),
    last_action_unused=st.booleans(),
    stride=st.integers(1, 4),
)
def test_windows_are_exactly_those_that_fit(store, episodes, frame_skip, low_steps, last_action_unused, stride):
    expected = brute_force(episodes, frame_skip, low_steps, last_action_unused, stride)
    make = {"frame_skip": frame_skip, "low_steps": low_steps, "stride": stride}
    if not expected:
        with pytest.raises(DataError, match="needs"):
            Windows(store, episodes, last_action_unused=last_action_unused, **make)
        return
    windows = Windows(store, episodes, cameras=["side"], last_action_unused=last_action_unused, **make)
    assert len(windows) == len(expected)
    batch = windows.read(np.arange(len(windows)))
    assert list(zip(batch["episode"].tolist(), batch["row"].tolist(), strict=True)) == expected
    rows = np.array([[(n, start + i * frame_skip) for i in range(low_steps)] for n, start in expected])
    np.testing.assert_array_equal(frame_says(batch["frames/side"]), rows)


@pytest.mark.parametrize("frame_skip", [1, 2, 3, 4, 5])
def test_block_i_leads_from_frame_i_to_frame_i_plus_1(store, frame_skip):
    """On an integrator, the actions of a block add up to the way between its two frames."""
    windows = Windows(store, range(len(LENGTHS)), frame_skip=frame_skip, low_steps=3, cameras=["front", "side"])
    batch = windows.read(np.arange(len(windows)))
    at = frame_says(batch["frames/front"])
    where = position(at[..., 0], at[..., 1])
    blocks = batch["actions"].numpy().reshape(len(windows), 3, frame_skip, 2)
    np.testing.assert_allclose(blocks[:, :2].sum(2), np.diff(where, axis=1), rtol=1e-5)
    np.testing.assert_array_equal(at, frame_says(batch["frames/side"]))


@pytest.mark.parametrize("frame_skip", [2, 5])
def test_actions_in_a_block_are_chronological(store, frame_skip):
    windows = Windows(store, [2], frame_skip=frame_skip, low_steps=2)
    batch = windows.read(np.array([3]))
    expected = [position(2, 3 + j + 1) - position(2, 3 + j) for j in range(frame_skip)]
    np.testing.assert_allclose(batch["actions"][0, 0].numpy(), np.concatenate(expected), rtol=1e-6)


def test_actions_behind_the_end_of_the_episode_are_nan_and_others_are_not(store):
    windows = Windows(store, [2], frame_skip=5, low_steps=6)
    assert len(windows) == 1
    actions = windows.read(np.array([0]))["actions"][0]
    assert not actions[:5].isnan().any()
    assert actions[5].isnan().all()
    inside = Windows(store, [2], frame_skip=5, low_steps=5).read(np.array([0]))["actions"]
    assert not inside.isnan().any()


def test_a_window_whose_last_action_is_used_needs_the_rows_for_it():
    assert needed_rows(5, 21) == 101
    assert needed_rows(5, 21, last_action_unused=False) == 105
    assert needed_rows(1, 18) == 18
    assert needed_rows(1, 18, last_action_unused=False) == 18


def test_the_longest_published_tworoom_episode_gives_one_high_level_window():
    assert window_counts(np.array([100, 101, 102]), needed_rows(5, 21)).tolist() == [0, 1, 2]


def test_batches_hold_what_was_asked_for_in_the_types_promised(store):
    windows = Windows(store, [2, 5], frame_skip=2, low_steps=3, cameras=["front", "side"], proprio=["joints"])
    batch = windows.read(np.array([4, 0, 4]))
    assert {name: (tuple(x.shape), x.dtype) for name, x in batch.items()} == {
        "frames/front": ((3, 3, 4, 4, 3), torch.uint8),
        "frames/side": ((3, 3, 3, 5, 3), torch.uint8),
        "actions": ((3, 3, 4), torch.float32),
        "proprio/joints": ((3, 3, 3), torch.float32),
        "episode": ((3,), torch.int64),
        "row": ((3,), torch.int64),
    }
    rows = batch["row"][:, None] + 2 * torch.arange(3)
    torch.testing.assert_close(batch["proprio/joints"][..., 2], rows.float())
    torch.testing.assert_close(batch["frames/front"][0], batch["frames/front"][2])


def test_reading_does_not_depend_on_batch_mates_or_order(store):
    windows = Windows(store, range(len(LENGTHS)), frame_skip=3, low_steps=3, cameras=["front"])
    order = np.random.default_rng(1).permutation(len(windows))
    together = windows.read(order)
    for position_in_batch, index in enumerate(order):
        alone = windows.read(np.array([index]))
        for name, values in alone.items():
            assert torch.equal(values[0].nan_to_num(9e9), together[name][position_in_batch].nan_to_num(9e9)), name


def test_frame_rows_are_the_rows_the_frames_were_read_from(store):
    windows = Windows(store, [6, 2], frame_skip=4, low_steps=3, cameras=["front"])
    rows = windows.frame_rows(np.arange(len(windows)))
    frames = windows.read(np.arange(len(windows)))["frames/front"]
    np.testing.assert_array_equal(frames.numpy(), store.read_frames("front", rows))


def test_drawn_frames_are_drawn_at_the_size_asked_for(tmp_path):
    drawn = write(tmp_path / "set", LENGTHS, (DRAWN, ACTION, POSITION))
    windows = Windows(drawn, [2], frame_skip=2, low_steps=2, cameras=["front"], size=8, draw=draw)
    frames = windows.read(np.array([5]))["frames/front"]
    assert frames.shape == (1, 2, 8, 8, 3)
    assert frames[0, :, 0, :2, 0].tolist() == (position(2, np.array([5, 7])) % 256).tolist()
    by_camera = Windows(drawn, [2], frame_skip=2, low_steps=2, cameras=["front"], size=8, draw={"front": draw})
    assert torch.equal(by_camera.read(np.array([5]))["frames/front"], frames)


def test_a_missing_drawer_is_noticed_when_the_windows_are_made(tmp_path):
    drawn = write(tmp_path / "set", LENGTHS, (DRAWN, ACTION, POSITION))
    with pytest.raises(DataError, match="draw function"):
        Windows(drawn, [2], frame_skip=2, low_steps=2, cameras=["front"], size=8)


def test_state_columns_cannot_be_asked_for(store):
    with pytest.raises(DataError, match=r"'position' has the role state.*Declared proprio columns: joints"):
        Windows(store, [2], frame_skip=2, low_steps=2, proprio=["position"])


def test_no_long_enough_episode_says_what_is_needed_and_what_there_is(store):
    with pytest.raises(
        DataError, match=r"21 low steps at frame skip 5 needs 101 environment rows.*2 episodes.* has 26"
    ):
        Windows(store, [2, 3], frame_skip=5, low_steps=21)


def test_permuting_state_columns_leaves_batches_bit_identical(tmp_path):
    """Models see pixels, actions and declared proprio only: whatever stands in the state columns, and in what order."""
    noise = np.random.default_rng(0)
    originals = [episode(number, rows) for number, rows in enumerate(LENGTHS)]

    def shuffled(one):
        order = noise.permutation(one.rows)
        states = {name: one.columns[name][order] for name in ("position", "clock")}
        return replace(one, columns={**one.columns, **states})

    batches = []
    for name, columns, episodes in [
        ("a", COLUMNS, originals),
        ("b", (*COLUMNS[4:], *COLUMNS[:4]), [shuffled(one) for one in originals]),
    ]:
        with Writer(tmp_path / name, meta(columns), shard_bytes=1_000) as writer:
            writer.append(episodes)
        made = Store.open(tmp_path / name)
        windows = Windows(made, made.ids, frame_skip=2, low_steps=4, cameras=["front", "side"], proprio=["joints"])
        batches.append(windows.read(np.arange(len(windows))))
    assert batches[0].keys() == batches[1].keys()
    for name, values in batches[0].items():
        assert values.numpy().tobytes() == batches[1][name].numpy().tobytes(), name


def test_memory_grows_with_episodes_and_not_with_windows(tmp_path):
    """A hundred times the windows of one episode leave the reader's own arrays as they are."""

    def size_of(windows: Windows) -> int:
        arrays = [*vars(windows).values(), *vars(windows.store).values()]
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    short = Windows(write(tmp_path / "short", [10, 10]), [0, 1], frame_skip=1, low_steps=10)
    long = Windows(write(tmp_path / "long", [110, 110]), [0, 1], frame_skip=1, low_steps=10)
    assert len(long) > 100 * len(short) // 2
    assert size_of(long) == size_of(short)
