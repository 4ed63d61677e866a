"""MAPS: the closed form of the divergence, free bits on the batch mean, warm-up."""

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from dualwm.loss.maps import Maps, kl_per_dimension, maps


def posterior(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(5, 3, 16, generator=generator), torch.randn(5, 3, 16, generator=generator)


def test_the_divergence_is_that_of_two_normals():
    mean, log_variance = posterior()
    q = Normal(mean, (0.5 * log_variance).exp())
    expected = kl_divergence(q, Normal(torch.tensor(0.0), torch.tensor(1.0))).mean((0, 1))
    torch.testing.assert_close(kl_per_dimension(mean, log_variance), expected)
    torch.testing.assert_close(maps(mean, log_variance), expected.sum())


def test_it_is_nothing_at_the_prior_and_free_bits_raise_the_floor():
    """16 dimensions of at least 0.05 nats each: 0.8."""
    prior = torch.zeros(7, 16)
    assert float(maps(prior, prior)) == 0.0
    torch.testing.assert_close(maps(prior, prior, free_bits=0.05), torch.tensor(0.8))


def test_free_bits_count_on_the_batch_mean_and_not_per_sample():
    """One sample far away, one at the prior: their mean is above the floor, so both are counted as they are."""
    mean = torch.tensor([[0.6], [0.0]])
    assert float(maps(mean, torch.zeros(2, 1), free_bits=0.05)) == pytest.approx(0.09)


def test_below_the_free_bits_there_is_no_gradient_and_above_there_is():
    mean = torch.tensor([[0.1, 2.0]], requires_grad=True)
    maps(mean, torch.zeros(1, 2), free_bits=0.05).backward()
    assert mean.grad is not None
    assert mean.grad.tolist() == [[0.0, 2.0]]


def test_beta_warms_up_from_half_to_all():
    rising = Maps(warmup_fraction=0.4)
    assert [rising.warmup(p) for p in (0.0, 0.2, 0.4, 1.0)] == [0.5, 0.75, 1.0, 1.0]
    assert [Maps().warmup(p) for p in (0.0, 0.5, 1.0)] == [1.0, 1.0, 1.0]
