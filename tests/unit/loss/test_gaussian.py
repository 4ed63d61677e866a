"""The Gaussian regulariser: its floors on Gaussian data, and what each kind of collapse costs."""

import math

import pytest
import torch
from fake_processes import TwoProcesses

from dualwm.loss.gaussian import Gaussian, epps_pulley, quantile, random_directions

WIDTH = 192


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def gaussian(b: int, t: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randn(t, b, WIDTH, generator=seeded(seed))


def standardised(z: torch.Tensor) -> torch.Tensor:
    """Means exactly 0 and deviations exactly 1 at each time: neither centre nor scale costs anything."""
    return (z - z.mean(1, keepdim=True)) / z.std(1, keepdim=True, correction=0)


def value(z: torch.Tensor, directions: int = 512) -> float:
    return float(quantile(z, random_directions(z.shape[-1], directions, seeded(9))))


FLOORS = {
    64: (0.0185, 0.0083, 0.0282),
    128: (0.0083, 0.0043, 0.0152),
    256: (0.0040, 0.0023, 0.0079),
    512: (0.0021, 0.0011, 0.0042),
}
"""Batch size -> centre, scale and shape of truly Gaussian data in 192 dimensions."""


@pytest.mark.parametrize("b", [64, 128, 256, 512])
def test_gaussian_data_costs_the_known_floors(b: int):
    z = gaussian(b)
    centred = z - z.mean(1, keepdim=True)
    shape = value(standardised(z))
    parts = (value(z) - value(centred), value(centred) - shape, shape)
    assert parts == pytest.approx(FLOORS[b], rel=0.2)


def test_shrunken_data_cost_one_in_scale_and_keep_their_shape():
    z = standardised(gaussian(128))
    assert value(1e-4 * z) == pytest.approx(1.0 + value(z), abs=2e-3)


def test_collapsed_data_cost_at_least_one():
    assert value(torch.full((2, 64, WIDTH), 0.0)) > 1.0


def test_data_twice_as_wide_cost_one_in_scale():
    z = standardised(gaussian(128))
    assert value(2 * z) == pytest.approx(1.0 + value(z), abs=1e-4)


def test_data_with_mean_one_cost_one_in_centre_and_nothing_else():
    z = standardised(gaussian(128))
    assert value(z + 1) == pytest.approx(1.0 + value(z), abs=1e-4)


def test_data_on_a_line_are_found_out_by_their_shape():
    signs = torch.randn(WIDTH, generator=seeded(1)).sign()
    z = standardised(torch.randn(4, 128, 1, generator=seeded()) * signs)
    assert 0.3 < value(z) < 0.5


def test_times_are_judged_apart():
    """Two times with opposite means are no Gaussian, though together they are centred."""
    z = standardised(gaussian(128, t=2))
    z[0] += 1
    z[1] -= 1
    assert value(z) > 1.0


def test_the_shape_term_does_not_pull_on_the_scale():
    """The deviation it divides by is detached: with many directions, its gradient has no part along the data."""
    z = (0.5 * standardised(gaussian(64, t=1))).requires_grad_()
    quantile(z, random_directions(WIDTH, 512, seeded(9))).backward()
    assert z.grad is not None
    along = float((z.grad * z.detach()).sum())
    scale_only = -0.5  # d/ds of mean (s - 1)^2 at s = 1/2, times s
    shape = along - scale_only
    deviation = 0.5
    expected = _shape_gradient_along(z.detach(), deviation)
    assert shape == pytest.approx(expected, rel=1e-3)


def _shape_gradient_along(z: torch.Tensor, deviation: float) -> float:
    """d/dt of the shape term for data t * z standardised by a deviation that stays as it is."""
    t = torch.ones((), requires_grad=True)
    directions = random_directions(WIDTH, 512, seeded(9))
    b = z.shape[1]
    projected = ((t * z / deviation) @ directions).sort(dim=1).values
    grid = torch.distributions.Normal(0.0, 1.0).icdf(torch.arange(1, b + 1) / (b + 1))
    (slope,) = torch.autograd.grad((projected - grid[:, None]).square().mean(), t)
    return float(slope)


def epps(z: torch.Tensor) -> float:
    return float(epps_pulley(z, random_directions(z.shape[-1], 512, seeded(9)), 17))


@pytest.mark.parametrize("b", [64, 256])
def test_epps_pulley_of_gaussian_data_has_a_floor_that_no_batch_size_moves(b: int):
    """E |phi_B - phi|^2 = (1 - exp(-s^2)) / B; times B, weighted and integrated over the knots."""
    s = torch.linspace(0, 3, 17, dtype=torch.float64)
    floor = 2 * torch.trapezoid((-s.square() / 2).exp() * (1 - (-s.square()).exp()), s)
    assert epps(gaussian(b)) == pytest.approx(float(floor), rel=0.1)


def test_epps_pulley_grows_with_the_batch_where_data_collapse_or_shift():
    for z in (torch.zeros(2, 64, WIDTH), standardised(gaussian(64)) + 1, 3 * standardised(gaussian(64))):
        assert epps(z) > 5.0
        assert epps(torch.cat([z, z], 1)) == pytest.approx(2 * epps(z), rel=1e-4)


def test_the_two_forms_are_told_apart_by_name():
    z = gaussian(64).transpose(0, 1)
    directions = random_directions(WIDTH, 32, seeded(3))
    whole = z.transpose(0, 1)
    by_quantile = Gaussian(form="quantile", projections=32)(z, seeded(3))
    by_epps = Gaussian(form="epps_pulley", projections=32)(z, seeded(3))
    assert torch.equal(by_quantile, quantile(whole, directions))
    assert torch.equal(by_epps, epps_pulley(whole, directions, 17))


def test_directions_are_unit_vectors_and_a_function_of_the_generator():
    directions = random_directions(WIDTH, 1000, seeded(3))
    torch.testing.assert_close(directions.norm(dim=0), torch.ones(1000))
    assert float(directions.mean().abs()) < 3 / math.sqrt(WIDTH * 1000 * WIDTH)
    assert torch.equal(directions, random_directions(WIDTH, 1000, seeded(3)))


@pytest.mark.parametrize("form", ["quantile", "epps_pulley"])
def test_two_processes_with_half_batches_pay_for_the_whole_one(form: str):
    """A half alone would pay a higher floor: the statistics must be those of the global batch."""
    z = gaussian(64).transpose(0, 1)
    regulariser = Gaussian(form=form, projections=64)  # pyright: ignore[reportArgumentType]
    whole = regulariser(z, seeded(3))
    halves = TwoProcesses().run(lambda rank, reduce: regulariser(z[32 * rank : 32 * rank + 32], seeded(3), reduce))
    for half in halves:
        torch.testing.assert_close(half, whole)
    assert float(regulariser(z[:32], seeded(3))) != pytest.approx(float(whole), rel=0.05)
