"""Calls in row tiles: the same numbers, whatever the number of rows."""

import pytest
import torch
from torch import nn

from dualwm.plan.tiles import Tiled
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


def test_tiles_give_what_one_call_gives_to_rounding():
    net = network()
    x = seeded(50, 3, 6)
    torch.testing.assert_close(Tiled(lambda x: net(x), 8)(x), net(x))
