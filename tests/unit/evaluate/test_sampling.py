import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dualwm.errors import ProtocolError
from dualwm.evaluate.sampling import heldout_starts, paper_rows, rows_to_starts


def test_paper_rows_are_those_of_the_release_on_its_own_collection():
    rows = paper_rows(np.full(10_000, 201), offset=100, seed=42)
    assert rows[:4].tolist() == [14735, 45638, 61924, 69638]
    assert rows[-1] == 2002029
    assert len(rows) == 200
    episode, start_row = rows_to_starts(np.full(10_000, 201), rows)
    assert (episode == rows // 201).all()
    assert (start_row == rows % 201).all()
    assert len(set(episode.tolist())) == 198


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=20), st.integers(1, 12), st.integers(0, 99))
def test_paper_rows_are_drawn_from_all_rows_that_leave_room(lengths: list[int], offset: int, seed: int):
    steps = np.concatenate([np.arange(n) for n in lengths])
    room = np.concatenate([np.full(n, n - offset - 1) for n in lengths])
    valid = np.flatnonzero(steps <= room)
    sample = min(5, len(valid))
    if sample == 0:
        return
    expected = np.sort(valid[np.random.default_rng(seed).choice(len(valid), sample, replace=False)])
    rows = paper_rows(np.array(lengths), offset, seed, sample)
    assert rows.tolist() == expected.tolist()
    episode, start_row = rows_to_starts(np.array(lengths), rows)
    assert (start_row + offset < np.array(lengths)[episode]).all()


def test_too_few_rows_for_the_paper_sample_are_refused():
    with pytest.raises(ProtocolError, match="only 3 rows leave room"):
        paper_rows(np.array([13, 10]), offset=10, seed=0, sample=4)


def test_heldout_starts_take_equally_many_rows_of_every_episode_that_has_them():
    lengths = np.array([30, 12, 10, 40, 11])
    episode, start_row = heldout_starts("dev", lengths, offset=10, min_pairs=20)
    assert np.bincount(episode, minlength=5).tolist() == [9, 2, 0, 9, 1]
    assert (start_row + 10 < lengths[episode]).all()
    assert len(set(zip(episode.tolist(), start_row.tolist(), strict=True))) == len(episode)


def test_heldout_starts_are_a_function_of_collection_offset_and_episode():
    lengths = np.full(20, 60)
    one = heldout_starts("dev", lengths, 25, 60)[1]
    assert one.tolist() == heldout_starts("dev", lengths, 25, 60)[1].tolist()
    assert one.tolist() != heldout_starts("test", lengths, 25, 60)[1].tolist()
    # Appending episodes leaves the rows of the old ones alone as long as as many are drawn of each.
    more = heldout_starts("dev", np.full(40, 60), 25, 120)[1]
    assert more[:60].tolist() == one.tolist()


def test_a_collection_with_too_few_start_rows_is_refused():
    with pytest.raises(ProtocolError, match="has 5 valid start rows"):
        heldout_starts("test", np.array([15]), offset=10, min_pairs=6)
