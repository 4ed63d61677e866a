import json

import pytest
import torch
from hypothesis import given, settings, strategies as st

from dualwm.data.split import Split, release_split
from dualwm.errors import DataError


@settings(max_examples=30, deadline=None, derandomize=True)
@given(episodes=st.integers(2, 400))
def test_the_release_rule_is_the_prefix_of_torch_randperm_with_seed_42(episodes):
    torch.manual_seed(42)
    order = torch.randperm(episodes).tolist()
    split = release_split(episodes, "digest")
    assert set(split.train) == set(order[: int(episodes * 9) // 10])
    assert sorted(split.train + split.heldout) == list(range(episodes))


def test_ten_thousand_episodes_split_into_nine_and_one():
    split = release_split(10_000, "digest")
    assert (len(split.train), len(split.heldout)) == (9_000, 1_000)
    assert list(split.train) == sorted(split.train)
    assert sorted(split.train + split.heldout) == list(range(10_000))


def test_making_a_split_leaves_torch_randomness_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    release_split(50, "digest")
    assert torch.equal(torch.rand(3), expected)


def test_a_split_survives_json_and_keeps_its_digest():
    split = release_split(37, "abc")
    back = Split.from_plain(json.loads(json.dumps(split.to_plain())), "split.json")
    assert back == split
    assert back.digest == split.digest
    assert release_split(37, "other").digest != split.digest


@pytest.mark.parametrize(("train", "heldout"), [((1, 2), (2, 3)), ((1, 1), (2,)), ((1,), (3, 3))])
def test_an_episode_in_two_places_is_refused(train, heldout):
    with pytest.raises(DataError, match="at most once"):
        Split(rule="by hand", store_digest="", train=train, heldout=heldout)


@pytest.mark.parametrize("plain", [{}, {"rule": "", "store_digest": "", "train": ["x"], "heldout": []}])
def test_damaged_split_files_are_named(plain):
    with pytest.raises(DataError, match=r"runs/a/split\.json should hold a split"):
        Split.from_plain(plain, "runs/a/split.json")


def test_one_episode_cannot_be_split():
    with pytest.raises(DataError, match="at least 2 episodes"):
        release_split(1, "digest")
