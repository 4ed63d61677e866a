"""Laws of the losses and of Appendix B that hold for every setting."""

import numpy as np
import torch
from hypothesis import given, settings, strategies as st
from toys import LinearWorld

from dualwm.loss.envelope import envelope_slope, growth, residual_bound, terminal_bound
from dualwm.loss.lore import horizon_errors, horizon_weights, lore
from dualwm.loss.maps import kl_per_dimension, maps

LAWFUL = settings(max_examples=40, deadline=None, derandomize=True)

steps = st.integers(1, 20)
decays = st.floats(0, 5)
lipschitz = st.floats(0, 3)
falling = st.sampled_from(["exponential", "linear", "uniform", "one_step"])


def seeded(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@LAWFUL
@given(falling, steps, decays)
def test_weights_sum_to_one_and_never_increase(profile, n, decay):
    weights = horizon_weights(profile, n, decay)
    assert weights.shape == (n,)
    assert abs(float(weights.sum()) - 1) < 1e-6
    assert (weights >= 0).all()
    assert (weights.diff() <= 0).all()


@LAWFUL
@given(steps)
def test_no_decay_is_uniform_and_endless_decay_is_one_step(n):
    torch.testing.assert_close(horizon_weights("exponential", n, 0.0), horizon_weights("uniform", n, 0.0))
    torch.testing.assert_close(horizon_weights("exponential", n, 200.0), horizon_weights("one_step", n, 0.0))


@LAWFUL
@given(st.integers(2, 20), st.floats(0, 2))
def test_neighbouring_weights_have_the_ratio_of_one_decay(n, decay):
    weights = horizon_weights("exponential", n, decay).numpy()
    np.testing.assert_allclose(weights[1:] / weights[:-1], np.exp(-decay), rtol=1e-4)


@LAWFUL
@given(lipschitz, st.floats(0, 1), st.integers(1, 12))
def test_no_rollout_of_the_linear_world_exceeds_the_bound(L, eps, n):
    true, predicted = LinearWorld(L, eps).rollouts(n)
    errors = np.linalg.norm(true - predicted, axis=1)[1:]
    assert (errors <= eps * growth(L, n) * (1 + 1e-9) + 1e-12).all()


@LAWFUL
@given(lipschitz, st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_residuals_below_epsilon_stay_below_the_envelope(L, residuals):
    bound = residual_bound(L, np.array(residuals))
    assert (bound <= max(residuals) * growth(L, len(residuals)) * (1 + 1e-9) + 1e-12).all()


@LAWFUL
@given(decays, lipschitz, st.integers(1, 10))
def test_more_decay_never_raises_the_envelope(decay, L, n):
    assert envelope_slope(decay, L, 1.0, n) <= 1e-9


@LAWFUL
@given(falling.filter(lambda p: p != "one_step"), st.integers(1, 8), st.floats(0, 2), st.integers(0, 999))
def test_the_loss_bounds_the_terminal_error(profile, n, decay, seed):
    z_hat, z = seeded(seed, 3, n, 4), seeded(seed + 1, 3, n, 4)
    loss = float(lore(z_hat, z, horizon_weights(profile, n, decay)))
    assert float(horizon_errors(z_hat, z)[-1]) <= terminal_bound(loss, profile, n, decay) * (1 + 1e-4)


@LAWFUL
@given(st.integers(1, 6), st.integers(0, 999))
def test_endless_decay_leaves_the_one_step_error(n, seed):
    z_hat, z = seeded(seed, 3, n, 4), seeded(seed + 1, 3, n, 4)
    torch.testing.assert_close(lore(z_hat, z, horizon_weights("exponential", n, 200.0)), horizon_errors(z_hat, z)[0])


@LAWFUL
@given(st.integers(0, 999), st.floats(0, 0.5))
def test_maps_is_never_negative_and_free_bits_only_raise_it(seed, bits):
    mean, log_variance = seeded(seed, 5, 4), seeded(seed + 1, 5, 4)
    assert (kl_per_dimension(mean, log_variance) >= 0).all()
    assert float(maps(mean, log_variance, bits)) >= float(maps(mean, log_variance)) - 1e-6
    assert float(maps(mean, log_variance, bits)) >= 4 * bits - 1e-6
