"""LoRe: weights against the table of the paper's settings, errors on numbers that can be added up by hand."""

import pytest
import torch
from toys import IntegratorDynamics, IntegratorWorld

from dualwm.errors import RecipeError
from dualwm.loss.lore import Profile, Rollout, horizon_errors, horizon_weights, lore
from dualwm.model.dynamics import supervised_targets

TABLE: dict[str, tuple[float, list[float]]] = {
    "TwoRoom, low": (0.5, [0.4287, 0.2600, 0.1577, 0.0956, 0.0580]),
    "Reacher and PushT, low": (0.2, [0.4018, 0.3289, 0.2693]),
    "Cube, low": (0.05, [0.1882, 0.1790, 0.1703, 0.1620, 0.1541, 0.1465]),
    "Sokoban, low": (
        0.1, [0.1505, 0.1362, 0.1233, 0.1115, 0.1009, 0.0913, 0.0826, 0.0748, 0.0676, 0.0612],
    ),
    "high, M = 6": (0.5, [0.4141, 0.2512, 0.1523, 0.0924, 0.0560, 0.0340]),
    "high, M = 8": (0.5, [0.4008, 0.2431, 0.1474, 0.0894, 0.0542, 0.0329, 0.0200, 0.0121]),
}  # fmt: skip


@pytest.mark.parametrize(("decay", "expected"), TABLE.values(), ids=TABLE.keys())
def test_the_papers_settings_give_these_weights(decay: float, expected: list[float]):
    weights = horizon_weights("exponential", len(expected), decay)
    torch.testing.assert_close(weights, torch.tensor(expected), rtol=0, atol=5.1e-5)


def test_the_linear_profile_falls_by_equal_steps():
    torch.testing.assert_close(horizon_weights("linear", 5, 0.5), torch.tensor([5.0, 4, 3, 2, 1]) / 15)


def test_the_other_profiles():
    assert horizon_weights("uniform", 4, 0.5).tolist() == [0.25] * 4
    assert horizon_weights("one_step", 4, 0.5).tolist() == [1, 0, 0, 0]
    torch.testing.assert_close(horizon_weights("increasing", 3, 0.5), torch.tensor([1.0, 2, 3]) / 6)


@pytest.mark.parametrize("profile", ["exponential", "linear", "uniform", "one_step", "increasing"])
def test_one_step_has_weight_one_whatever_the_profile(profile: Profile):
    assert horizon_weights(profile, 1, 0.7).tolist() == [1.0]


def test_the_loss_adds_up_weighted_mean_errors():
    z = torch.zeros(2, 3, 4)
    z_hat = torch.tensor([1.0, 2.0, 3.0])[None, :, None].expand(2, 3, 4).clone()
    z_hat[1] = 0.0  # half of the batch is perfect
    assert horizon_errors(z_hat, z).tolist() == [0.5, 2.0, 4.5]
    assert horizon_errors(z_hat, z, norm=1).tolist() == [0.5, 1.0, 1.5]
    weights = torch.tensor([0.5, 0.25, 0.25])
    assert float(lore(z_hat, z, weights)) == 0.25 + 0.5 + 1.125
    assert float(lore(z_hat, z, weights, norm=1)) == 0.25 + 0.25 + 0.375


def test_context_positions_are_averaged_like_the_latents_axes():
    z_hat = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0))
    z = torch.zeros_like(z_hat)
    torch.testing.assert_close(horizon_errors(z_hat, z), z_hat.square().mean((0, 2, 3)))


def test_a_perfect_model_has_no_loss_and_a_drifting_one_the_sum_of_squares():
    """With drift 1 the h-step prediction is off by h: the loss is sum_h w_h h^2."""
    z, a = IntegratorWorld().episode(4, 6)
    weights = horizon_weights("exponential", 5, 0.5)
    for drift, expected in ((0.0, 0.0), (1.0, float((weights * torch.arange(1.0, 6).square()).sum()))):
        outputs = IntegratorDynamics(1, drift=drift).supervised(z, a, 5, free=True, truncate=False)
        torch.testing.assert_close(float(lore(outputs, supervised_targets(z, 5, 1), weights)), expected)


def test_one_step_supervision_is_the_mean_squared_error_over_all_positions():
    z, a = IntegratorWorld().episode(4, 4)
    outputs = IntegratorDynamics(3, drift=2.0).supervised(z, a, 1, free=True, truncate=False)
    assert outputs.shape == (4, 1, 3, 2)
    loss = lore(outputs, supervised_targets(z, 1, 3), horizon_weights("exponential", 1, 0.5))
    assert float(loss) == 4.0


def test_gradient_reaches_predictions_and_targets_alike():
    z_hat, z = torch.ones(2, 3, 4, requires_grad=True), torch.zeros(2, 3, 4, requires_grad=True)
    weights = horizon_weights("exponential", 3, 0.5)
    lore(z_hat, z, weights).backward()
    assert z_hat.grad is not None
    assert z.grad is not None
    torch.testing.assert_close(z_hat.grad[0, :, 0], 2 * weights / 8)
    assert torch.equal(z.grad, -z_hat.grad)


def test_the_horizon_is_fixed_drawn_or_grows():
    assert [Rollout(steps=4).horizon_at(p, 0.3) for p in (0.0, 1.0)] == [4, 4]
    sampled = Rollout(steps=4, horizon="sampled")
    assert [sampled.horizon_at(0.9, u) for u in (0.0, 0.24, 0.26, 0.99, 1.0)] == [1, 1, 2, 4, 4]
    growing = Rollout(steps=4, horizon="curriculum")
    assert [growing.horizon_at(p, 0.9) for p in (0.0, 0.25, 0.5, 0.99, 1.0)] == [1, 2, 3, 4, 4]


def test_a_rollout_without_steps_or_with_growing_weights_is_refused():
    with pytest.raises(RecipeError, match="steps >= 1"):
        Rollout(steps=0)
    with pytest.raises(RecipeError, match="decay >= 0"):
        Rollout(steps=3, decay=-0.1)
