"""Calls in row tiles: the same numbers, whatever the number of rows."""

import pytest
import torch
from torch import nn

from dualwm.plan.tiles import Tiled, tile_of
from dualwm.states import State


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 64), nn.GELU(), nn.Linear(64, 6)).requires_grad_(False)


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0))


def test_rows_are_cut_padded_and_joined():
    sizes: list[int] = []

    def double(z: State, a: torch.Tensor) -> State:
        sizes.append(len(a))
        return State(2 * z.latent + a)

    z, a = State(seeded(10, 3)), seeded(10, 3)
    out = Tiled(double, 4)(z, a)
    assert sizes == [4, 4, 4]
    assert torch.equal(out.latent, 2 * z.latent + a)


def test_a_full_tile_and_a_single_row_come_back_whole():
    for count in (1, 4):
        z = State(seeded(count, 3))
        assert torch.equal(Tiled(lambda z: z, 4)(z).latent, z.latent)


def test_every_part_of_a_state_is_cut_alike():
    z = State(seeded(5, 3), seeded(5, 2, 3), seeded(5, 1))
    out = Tiled(lambda z: z, 2)(z)
    assert torch.equal(out.latent, z.latent)
    assert out.tokens is not None
    assert z.tokens is not None
    assert torch.equal(out.tokens, z.tokens)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_row_has_the_same_bits_however_many_rows_there_are(dtype: torch.dtype):
    net = network().to(dtype)
    tiled = Tiled(lambda x: net(x), 8)
    x = seeded(50, 3, 6).to(dtype)
    whole = tiled(x)
    for rows in ([0], [3, 1, 2], list(range(17)), list(range(49, -1, -1))):
        assert torch.equal(tiled(x[rows]), whole[rows])


def test_a_row_has_the_same_bits_however_its_tensor_is_laid_out():
    """Kernels round by layout too: a view into a longer tensor must give what a copy gives."""
    net = network()
    tiled = Tiled(lambda x: net(x), 8)
    view = seeded(50, 5, 6)[:, :3]
    assert not view.is_contiguous()
    assert torch.equal(tiled(view), tiled(view.contiguous()))
    assert torch.equal(tiled(view[:3]), tiled(view)[:3])


def watched(fn, most: int) -> tuple[Tiled, list[int]]:
    sizes: list[int] = []

    def call(x: torch.Tensor) -> torch.Tensor:
        sizes.append(len(x))
        return fn(x)

    return Tiled(call, 4, most), sizes


def test_several_tiles_become_one_call_once_it_was_seen_to_give_their_bits():
    tiled, sizes = watched(lambda x: 2 * x, 16)
    x = torch.arange(22.0)[:, None].expand(22, 1 << 14)
    for _ in range(2):
        assert torch.equal(tiled(x), 2 * x)
    assert sizes[:5] == [4, 4, 4, 4, 16], "compared first"
    assert sizes[-3:] == [16, 4, 4], "the largest, then whole tiles, the last one padded"


def test_calls_that_would_change_bits_are_never_made_for_a_result():
    """A function that tells how many rows came with a row: no larger call may show."""
    tiled, sizes = watched(lambda x: x + len(x), 16)
    for count in (16, 16, 9, 33):
        x = torch.zeros(count, 1 << 16)
        assert torch.equal(tiled(x), x + 4)
    assert sizes.count(16) == 1, "tried once, then never again"


def test_one_difference_among_many_numbers_ends_it():
    tiled, _ = watched(lambda x: torch.where(torch.arange(x.shape[1]) == len(x), x + 1, x), 8)
    x = torch.zeros(8, 1000)
    assert all(torch.equal(tiled(x), tiled(x[:4]).repeat(2, 1)) for _ in range(400))


@pytest.mark.parametrize(
    ("rows", "most", "tile"), [(64, 256, 64), (300, 512, 300), (300, 128, 100), (3, 64, 8), (1, 4, 4)]
)
def test_a_tile_is_what_a_task_brings_or_equal_parts_of_it(rows: int, most: int, tile: int):
    assert tile_of(rows, most) == tile


def test_tiles_give_what_one_call_gives_to_rounding():
    net = network()
    x = seeded(50, 3, 6)
    torch.testing.assert_close(Tiled(lambda x: net(x), 8)(x), net(x))
