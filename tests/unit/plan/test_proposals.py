"""What a search samples from: Gaussian, coloured, boxed, squashed, categorical."""

import numpy as np
import pytest
import torch

from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Box, Categorical, Gaussian, Squashed, smooth_mixing, unsquash


def noise(tasks: int, seed: int = 0) -> Noise:
    return Noise(seed, np.arange(tasks), np.zeros(tasks, np.int64), 3)


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


BOX = Box(torch.tensor([-1.0, -3.0]), torch.tensor([1.0, 0.5]))


def test_candidates_spread_around_the_mean_by_the_deviation():
    mean, std = seeded(3, 2, 4), torch.full((3, 2, 4), 0.25)
    candidates = Gaussian(mean, std).sample(4000, noise(3), 0)
    torch.testing.assert_close(candidates.mean(1), mean, rtol=0, atol=0.02)
    torch.testing.assert_close(candidates.std(1), std, rtol=0.06, atol=0)


@pytest.mark.parametrize("mixing", [None, smooth_mixing(2, 2, 2, 0.7)])
def test_candidate_zero_is_the_mean(mixing: torch.Tensor | None):
    gaussian = Gaussian(seeded(3, 2, 4), torch.ones(3, 2, 4), mixing)
    assert torch.equal(gaussian.sample(5, noise(3), 0)[:, 0], gaussian.mean)
    assert torch.equal(gaussian.plan, gaussian.mean)


def test_elites_replace_mean_and_deviation():
    elites = torch.tensor([[[[1.0]], [[3.0]], [[8.0]]]])
    refitted = Gaussian(torch.zeros(1, 1, 1), torch.ones(1, 1, 1)).refit(elites)
    assert refitted.mean.tolist() == [[[4.0]]]
    torch.testing.assert_close(refitted.std, torch.full((1, 1, 1), 13.0**0.5))


def test_refitting_to_draws_of_its_own_shrinks_a_gaussian_by_the_known_factor():
    """The sample deviation of 30 draws is 0.9914 sigma on average: 0.77 after 30 rounds; the mean walks by one."""
    gaussian = Gaussian(torch.zeros(1, 20, 50), torch.ones(1, 20, 50))
    for round_ in range(30):
        draws = gaussian.mean[:, None] + gaussian.std[:, None] * seeded(1, 30, 20, 50, seed=round_)
        gaussian = gaussian.refit(draws)
    assert float(gaussian.std.mean()) == pytest.approx(0.772, abs=0.02)
    assert float(gaussian.mean.std()) == pytest.approx(1.0, abs=0.1)


def test_clipped_candidates_stay_inside_the_box_and_so_does_the_plan():
    gaussian = Gaussian(torch.full((3, 2, 2), 2.0), torch.full((3, 2, 2), 3.0), box=BOX)
    candidates = gaussian.sample(50, noise(3), 0)
    assert (candidates >= BOX.low).all()
    assert (candidates <= BOX.high).all()
    assert (candidates == BOX.high).any()
    assert torch.equal(gaussian.plan, BOX.high.expand(3, 2, 2))


def test_smooth_noise_has_unit_variance_and_the_asked_correlation_from_step_to_step():
    """Two blocks of three environment steps of two action dimensions: the correlation does not stop at blocks."""
    mixing = smooth_mixing(blocks=2, frame_skip=3, action_dim=2, correlation=0.7)
    covariance = (mixing.T @ mixing).view(6, 2, 6, 2)
    steps = torch.arange(6.0)
    expected = 0.7 ** (steps[:, None] - steps).abs()
    for first in range(2):
        torch.testing.assert_close(covariance[:, first, :, first], expected)
        assert not covariance[:, first, :, 1 - first].any(), "action dimensions are independent"


def test_coloured_candidates_have_that_correlation():
    mixing = smooth_mixing(2, 2, 1, 0.8)
    eps = Gaussian(torch.zeros(1, 2, 2), torch.ones(1, 2, 2), mixing).sample(20_000, noise(1), 0)[0].flatten(1)
    measured = torch.corrcoef(eps.T)
    assert float(measured[0, 1]) == pytest.approx(0.8, abs=0.02)
    assert float(measured[1, 2]) == pytest.approx(0.8, abs=0.02), "the last step of one block, the first of the next"
    assert float(measured[0, 2]) == pytest.approx(0.64, abs=0.02)
    assert float(eps.std()) == pytest.approx(1.0, abs=0.02)


def test_squashed_candidates_lie_strictly_inside_the_box():
    inner = Gaussian(torch.zeros(3, 2, 2), torch.full((3, 2, 2), 2.0))
    candidates = Squashed(inner, BOX).sample(200, noise(3), 0)
    assert (candidates > BOX.low).all()
    assert (candidates < BOX.high).all()
    assert candidates.std() > 0.5


def test_unsquashing_inverts_the_squashing_and_stays_finite_at_the_walls():
    actions = torch.tensor([[[-0.9, -2.5], [0.3, 0.4], [0.0, 0.0]]])
    there = unsquash(actions, BOX)
    torch.testing.assert_close(Squashed(Gaussian(there, torch.ones_like(there)), BOX).plan, actions)
    torch.testing.assert_close(there, ((actions - BOX.low) / (BOX.high - BOX.low) * 2 - 1).atanh())
    assert unsquash(torch.stack([BOX.low, BOX.high])[None], BOX).isfinite().all()


def test_a_warm_start_of_zeros_is_the_mean_action_of_the_data():
    """In normalised units the mean action is zero, wherever the world's box lies around it."""
    start = Squashed(Gaussian(unsquash(torch.zeros(1, 3, 2), BOX), torch.ones(1, 3, 2)), BOX)
    torch.testing.assert_close(start.plan, torch.zeros(1, 3, 2), rtol=0, atol=1e-6)


def test_refitting_a_squashed_gaussian_happens_in_the_unbounded_space():
    elites = seeded(2, 5, 3, 2).clamp(-0.4, 0.4)
    refitted = Squashed(Gaussian(torch.zeros(2, 3, 2), torch.ones(2, 3, 2)), BOX).refit(elites)
    torch.testing.assert_close(refitted.inner.mean, unsquash(elites, BOX).mean(1))


# Keys


def test_without_a_warm_start_every_key_is_as_likely():
    start = Categorical.start(torch.full((2, 3, 1), -1), 5)
    assert torch.equal(start.probabilities, torch.full((2, 3, 1, 5), 0.2))


def test_missing_rows_stay_uniform_beside_known_ones():
    """Filling them with zeros would favour key 0, which stays where it is."""
    start = Categorical.start(torch.tensor([[[3], [-1]]]), 5, escape=0.1)
    torch.testing.assert_close(start.probabilities[0, 1, 0], torch.full((5,), 0.2))
    known = start.probabilities[0, 0, 0]
    assert float(known[3]) == pytest.approx(0.733, abs=5e-4)
    assert float(known[0]) == pytest.approx(0.067, abs=5e-4)


def test_a_missing_row_draws_every_key_as_often():
    drawn = Categorical.start(torch.full((1, 1, 1), -1), 5).sample(5001, noise(1), 0)[0, 1:, 0]
    torch.testing.assert_close(drawn.mean(0), torch.full((5,), 0.2), rtol=0, atol=0.02)


def test_candidates_follow_the_probabilities():
    probabilities = torch.tensor([0.5, 0.3, 0.15, 0.05, 0.0]).expand(1, 1, 1, 5)
    drawn = Categorical(probabilities).sample(5001, noise(1), 0)[0, 1:, 0]
    torch.testing.assert_close(drawn.mean(0), probabilities[0, 0, 0], rtol=0, atol=0.02)


def test_plans_and_candidates_are_one_hot_per_sub_action():
    start = Categorical(torch.softmax(seeded(2, 3, 2, 5), -1))
    for keys in (start.plan[:, None], start.sample(7, noise(2), 0)):
        rows = keys.unflatten(-1, (2, 5))
        assert set(rows.unique().tolist()) == {0.0, 1.0}
        assert (rows.sum(-1) == 1).all()
    assert torch.equal(start.sample(7, noise(2), 0)[:, 0], start.plan), "candidate 0 is the plan"
    assert torch.equal(start.plan.unflatten(-1, (2, 5)).argmax(-1), start.probabilities.argmax(-1))


def test_unanimous_elites_leave_every_key_a_chance():
    elites = torch.nn.functional.one_hot(torch.full((1, 30, 1), 2), 5).float()
    start = Categorical.start(torch.full((1, 1, 1), -1), 5, smoothing=0.025, momentum=0.0)
    smoothed = start.refit(elites).probabilities[0, 0, 0]
    assert float(smoothed[2]) == pytest.approx(0.911, abs=5e-4)
    assert float(smoothed[0]) == pytest.approx(0.022, abs=5e-4)
    assert float(smoothed.sum()) == pytest.approx(1.0)


def test_a_refit_keeps_a_share_of_the_old_distribution():
    elites = torch.nn.functional.one_hot(torch.full((1, 30, 1), 2), 5).float()
    start = Categorical.start(torch.full((1, 1, 1), -1), 5, smoothing=0.025, momentum=0.75)
    assert float(start.refit(elites).probabilities[0, 0, 0, 2]) == pytest.approx(0.75 * 0.2 + 0.25 * 0.9111, abs=1e-4)
