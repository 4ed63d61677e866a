"""E_H and how windows and macro segments are cut, on numbers that say where they come from."""

import pytest
import torch
from toys import IntegratorWorld

from dualwm.model.window_encoder import TransformerWindow, padded_window, repeated_window, segments, windows
from dualwm.nets.transformer import TransformerSize


def numbered(steps: int) -> torch.Tensor:
    """(2, steps, 1): row t holds t."""
    return torch.arange(float(steps))[None, :, None].expand(2, -1, -1)


def test_windows_are_disjoint_and_end_where_their_high_state_lives():
    assert windows(numbered(9), 3)[0, :, :, 0].tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert windows(numbered(6), 2)[1, :, :, 0].tolist() == [[0, 1], [2, 3], [4, 5]]


@pytest.mark.parametrize(("k", "expected"), [(3, [[2, 3, 4], [5, 6, 7]]), (2, [[1, 2], [3, 4]]), (1, [[0], [1]])])
def test_a_segment_holds_the_blocks_from_one_windows_last_frame_to_the_next_ones(k: int, expected: list[list[int]]):
    assert segments(numbered(9), k, 2)[0, :, :, 0].tolist() == expected


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_segments_summed_actions_are_the_displacement_between_window_ends(k: int):
    z, a = IntegratorWorld().episode(4, k * 5)
    ends = windows(z, k)[:, :, -1]
    assert torch.equal(segments(a, k, 4).sum(2), ends[:, 1:] - ends[:, :-1])


@pytest.mark.parametrize("k", [2, 3])
def test_the_last_action_of_a_clip_and_the_first_k_minus_1_are_in_no_segment(k: int):
    used = segments(numbered(k * 5), k, 4)[0].flatten().tolist()
    assert used == list(range(k - 1, k * 5 - 1))


def test_the_window_of_a_single_frame_repeats_it():
    z = torch.arange(6.0).view(2, 3)
    repeated = repeated_window(z, 4)
    assert repeated.shape == (2, 4, 3)
    assert all(torch.equal(repeated[:, i], z) for i in range(4))
    assert torch.equal(repeated_window(z[None], 4)[0], repeated), "any leading axes"


def test_short_windows_are_padded_on_the_left_with_the_oldest_frame():
    z = numbered(5) + 7
    assert padded_window(z[:, :1], 3)[0, :, 0].tolist() == [7, 7, 7]
    assert padded_window(z[:, :2], 3)[0, :, 0].tolist() == [7, 7, 8]
    assert padded_window(z, 3)[0, :, 0].tolist() == [9, 10, 11]


def test_a_high_state_hears_every_frame_of_its_window_and_their_order():
    torch.manual_seed(0)
    E_H = TransformerWindow(size=TransformerSize(depth=2, heads=2, head_width=4, hidden=8)).build(6, 5, 3).eval()
    window = torch.randn(4, 3, 6)
    out = E_H(window)
    assert out.shape == (4, 5)
    for heard in range(3):
        other = window.clone()
        other[:, heard] += torch.randn(6)
        assert (E_H(other) - out).abs().amin() > 0
    assert not torch.allclose(E_H(window.flip(1)), out)
