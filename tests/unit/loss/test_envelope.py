"""Appendix B on a linear world whose rollout error grows as fast as the bound allows."""

import math

import numpy as np
import pytest
from toys import LinearWorld

from dualwm.loss.envelope import (
    assumptions,
    envelope,
    envelope_slope,
    error_recursion,
    growth,
    reference_decay,
    reference_weights,
    residual_bound,
    terminal_bound,
)
from dualwm.loss.lore import horizon_weights

LIPSCHITZ = pytest.mark.parametrize("L", [0.0, 0.5, 1.0, 1.3, 2.0])


@LIPSCHITZ
def test_the_linear_worlds_errors_meet_the_recursion_and_its_closed_form(L: float):
    true, predicted = LinearWorld(L, eps=0.25).rollouts(8)
    errors = np.linalg.norm(true - predicted, axis=1)[1:]
    np.testing.assert_allclose(errors, error_recursion(L, 0.25, 8))
    np.testing.assert_allclose(errors, 0.25 * growth(L, 8))


@LIPSCHITZ
def test_growth_is_the_sum_of_powers(L: float):
    sums = [sum(L**j for j in range(h)) for h in range(1, 9)]
    np.testing.assert_allclose(growth(L, 8), sums)


def test_growth_is_continuous_at_one():
    np.testing.assert_allclose(growth(1 + 1e-7, 8), growth(1.0, 8), rtol=1e-5)
    np.testing.assert_allclose(growth(1 + 1e-12, 8), growth(1.0, 8), rtol=1e-5)


@LIPSCHITZ
def test_uneven_residuals_are_weighed_by_how_long_they_are_amplified(L: float):
    residuals = np.array([1.0, 0.0, 0.5, 2.0])
    expected = [1.0, L, L**2 + 0.5, L**3 + 0.5 * L + 2.0]
    np.testing.assert_allclose(residual_bound(L, residuals), expected)
    np.testing.assert_allclose(residual_bound(L, np.full(8, 0.25)), 0.25 * growth(L, 8))


@pytest.mark.parametrize("L", [0.5, 1.3])
def test_recorded_updates_tell_their_lipschitz_constant_and_residual(L: float):
    world = LinearWorld(L, eps=0.25)
    true, predicted = world.rollouts(8)
    measured = assumptions(world.model(predicted[:-1]), world.model(true[:-1]), predicted[:-1], true[:-1], true[1:])
    assert measured == pytest.approx((L, 0.25))


@LIPSCHITZ
def test_reference_weights_make_every_horizons_bound_weigh_the_same(L: float):
    weights = reference_weights(L, 7)
    assert weights.sum() == pytest.approx(1.0)
    shares = weights * growth(L, 7) ** 2
    np.testing.assert_allclose(shares, shares[0])


@LIPSCHITZ
def test_reference_decay_is_the_log_ratio_of_neighbouring_weights(L: float):
    weights = reference_weights(L, 7)
    np.testing.assert_allclose(reference_decay(L, 7), -np.log(weights[1:] / weights[:-1]), atol=1e-12)


def test_reference_decay_approaches_twice_log_l_when_errors_expand():
    assert reference_decay(2.0, 30)[-1] == pytest.approx(2 * math.log(2.0), abs=1e-6)
    assert reference_decay(1.0, 30)[-1] == pytest.approx(2 * math.log(30 / 29))


def test_the_envelope_adds_up_by_hand():
    """n = 2, alpha = log 2: weights 2/3 and 1/3; S = 1 and 1 + L = 3."""
    assert envelope(math.log(2), 2.0, 0.5, 2) == pytest.approx(0.25 * (2 / 3 * 1 + 1 / 3 * 9))


@pytest.mark.parametrize("decay", [0.0, 0.3, 1.0])
@LIPSCHITZ
def test_the_envelopes_slope_is_its_derivative(decay: float, L: float):
    step = 1e-5
    difference = (envelope(decay + step, L, 0.5, 6) - envelope(decay - step, L, 0.5, 6)) / (2 * step)
    assert envelope_slope(decay, L, 0.5, 6) == pytest.approx(difference, rel=1e-5, abs=1e-9)


def test_the_terminal_bound_is_tight_when_all_error_is_terminal():
    for profile in ("exponential", "linear", "uniform"):
        weights = horizon_weights(profile, 5, 0.5)
        assert terminal_bound(3.0 * float(weights[-1]), profile, 5, 0.5) == pytest.approx(3.0)
