"""E_A: a posterior over macro-actions, sampled in training by whoever draws the noise."""

import torch

from dualwm.model.macro import MacroEncoder, Posterior, VariationalMacro
from dualwm.nets.transformer import TransformerSize

CONFIG = VariationalMacro(macro_width=4, width=8, size=TransformerSize(depth=1, heads=2, head_width=4, hidden=8))


def make() -> MacroEncoder:
    torch.manual_seed(0)
    return CONFIG.build(block_width=6, condition_width=5).eval()


def test_a_segment_becomes_mean_and_log_variance_and_u_is_lifted_to_the_condition():
    E_A = make()
    q = E_A(torch.randn(3, 2, 6))
    assert q.mean.shape == q.log_variance.shape == (3, 4)
    assert E_A.lift(q.mean).shape == (3, 5)
    assert E_A.lift.bias is not None


def test_the_posterior_hears_every_block_and_their_order():
    E_A, segment = make(), torch.randn(3, 2, 6)
    q = E_A(segment)
    for heard in range(2):
        other = segment.clone()
        other[:, heard] += torch.randn(6)
        assert (E_A(other).mean - q.mean).abs().amin() > 0
    assert not torch.allclose(E_A(segment.flip(1)).mean, q.mean)


def test_a_sample_is_mean_plus_sigma_times_noise_and_carries_gradient_to_both():
    mean = torch.tensor([[1.0, -2.0]], requires_grad=True)
    log_variance = torch.tensor([[0.0, 2 * torch.log(torch.tensor(3.0))]], requires_grad=True)
    q = Posterior(mean, log_variance)
    u = q.sample(torch.tensor([[2.0, 0.5]]))
    torch.testing.assert_close(u, torch.tensor([[3.0, -0.5]]))
    assert torch.equal(q.sample(torch.zeros(1, 2)), mean)
    u.sum().backward()
    torch.testing.assert_close(mean.grad, torch.ones(1, 2))
    torch.testing.assert_close(log_variance.grad, torch.tensor([[1.0, 0.75]]))


def test_log_variances_are_kept_between_minus_10_and_5():
    E_A, segment = make(), torch.randn(3, 2, 6)
    for bias, bound in ((100.0, 5.0), (-100.0, -10.0)):
        with torch.no_grad():
            E_A.log_variance.bias.fill_(bias)
        assert (E_A(segment).log_variance == bound).all()


def test_the_encoder_itself_is_deterministic():
    E_A, segment = make(), torch.randn(3, 2, 6)
    assert all(torch.equal(x, y) for x, y in zip(E_A(segment), E_A(segment), strict=True))
