"""The cross-entropy method on costs whose bottom is known."""

import numpy as np
import pytest
import torch
from toys import BowlCost

from dualwm.errors import RecipeError
from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Categorical, Gaussian
from dualwm.plan.search import Budget, Found, Score, search
from dualwm.states import State

BUDGET = Budget(candidates=300, iterations=30, elites=30)


def noise(tasks: int, seed: int = 0) -> Noise:
    return Noise(seed, np.arange(tasks), np.zeros(tasks, np.int64), 3)


def wide(b: int, h: int, a: int) -> Gaussian:
    return Gaussian(torch.zeros(b, h, a), torch.ones(b, h, a))


def bowl(b: int, ignored: int = 0) -> BowlCost:
    bottom = torch.rand(b, 2, 3, generator=torch.Generator().manual_seed(1)) * 2 - 1
    return BowlCost(bottom, ignored)


def test_search_reaches_the_bottom_of_a_bowl_and_settles_there():
    cost = bowl(8)
    found = search(cost, wide(8, 2, 3), BUDGET, noise(8))
    torch.testing.assert_close(found.plan, cost.bottom, rtol=0, atol=0.02)
    assert isinstance(found.proposal, Gaussian)
    assert found.proposal.std.max() < 1e-3


def test_costs_are_recorded_per_iteration_and_the_mean_one_falls():
    found = search(bowl(8), wide(8, 2, 3), BUDGET, noise(8))
    assert found.best_cost.shape == found.mean_cost.shape == (8, 30)
    assert (found.best_cost <= found.mean_cost).all()
    assert (found.mean_cost[:, -1] < 1e-2 * found.mean_cost[:, 0]).all()
    assert found.best_cost[:, -1].max() < 1e-3


def test_a_dimension_without_cost_keeps_its_width_while_its_mean_wanders():
    """30 refits to 30 elites shrink it to a half or so, and move the mean by about one initial deviation."""
    b = 40
    found = search(BowlCost(torch.zeros(b, 1, 2), ignored=1), wide(b, 1, 2), BUDGET, noise(b))
    assert isinstance(found.proposal, Gaussian)
    assert 0.4 < found.proposal.std[..., 1].mean() < 0.8
    assert 0.6 < found.plan[..., 1].std() < 1.2
    assert found.proposal.std[..., 0].max() < 1e-3


def test_one_iteration_returns_the_mean_of_its_elites():
    seen: list[torch.Tensor] = []

    def cost(candidates: torch.Tensor) -> Score:
        seen.append(candidates)
        return Score(candidates.sum((-2, -1)))

    found = search(cost, wide(4, 2, 3), Budget(candidates=10, iterations=1, elites=3), noise(4))
    for task in range(4):
        best = seen[0][task].sum((-2, -1)).argsort()[:3]
        torch.testing.assert_close(found.plan[task], seen[0][task, best].mean(0))


def test_the_states_of_the_best_candidate_are_kept():
    def cost(candidates: torch.Tensor) -> Score:
        return Score(-candidates.sum((-2, -1)), State(candidates * 10))

    found = search(cost, wide(4, 2, 3), Budget(candidates=10, iterations=2, elites=3), noise(4))
    assert found.predicted is not None
    torch.testing.assert_close(found.predicted.latent.sum((-2, -1)), -10 * found.best_cost[:, -1])


def test_a_candidate_without_a_cost_is_never_elite():
    def cost(candidates: torch.Tensor) -> Score:
        total = candidates.sum((-2, -1))
        return Score(torch.where(total < 0, torch.nan, total))

    found = search(cost, wide(4, 2, 3), Budget(candidates=40, iterations=3, elites=5), noise(4))
    assert (found.best_cost >= 0).all()
    assert found.plan.isfinite().all()


def test_search_finds_the_best_keys():
    best = torch.randint(0, 5, (6, 4, 1), generator=torch.Generator().manual_seed(0))
    one_hot = torch.nn.functional.one_hot(best, 5).float().flatten(-2)
    start = Categorical.start(torch.full((6, 4, 1), -1), 5)
    found: Found = search(BowlCost(one_hot), start, BUDGET, noise(6))
    assert torch.equal(found.plan, one_hot)


def test_a_budget_is_written_as_candidates_iterations_elites():
    budget = Budget.parse("192/30/20")
    assert (budget.candidates, budget.iterations, budget.elites) == (192, 30, 20)
    assert str(budget) == "192/30/20"


@pytest.mark.parametrize("text", ["192", "192/30", "a/b/c", "192/30/20/1"])
def test_another_spelling_is_refused_with_an_example(text: str):
    with pytest.raises(RecipeError, match="300/30/30"):
        Budget.parse(text)


@pytest.mark.parametrize("numbers", [(10, 0, 2), (10, 1, 1), (10, 1, 11)])
def test_a_budget_that_cannot_be_refitted_is_refused(numbers: tuple[int, int, int]):
    candidates, iterations, elites = numbers
    with pytest.raises(RecipeError, match=f"{candidates}/{iterations}/{elites}"):
        Budget(candidates=candidates, iterations=iterations, elites=elites)
