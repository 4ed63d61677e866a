"""The cross-entropy method over any proposal and any cost, for any number of tasks in one batch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch

from dualwm.errors import RecipeError
from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Proposal
from dualwm.shapes import Float, Tensor
from dualwm.states import State


class Score(NamedTuple):
    """Costs of candidates, and the states predicted on the way where the cost knows them."""

    cost: Float[Tensor, "b s"]
    predicted: State | None = None


Cost = Callable[[Float[Tensor, "b s h a"]], Score]


@dataclass(frozen=True, kw_only=True)
class Budget:
    """How much a search may try."""

    candidates: int
    """Candidates per iteration."""
    iterations: int
    """Iterations."""
    elites: int
    """Best candidates the proposal is refitted to."""

    def __post_init__(self) -> None:
        if self.iterations < 1 or not 2 <= self.elites <= self.candidates:
            raise RecipeError(
                f"A search needs at least one iteration and 2 <= elites <= candidates, got "
                f"{self.candidates}/{self.iterations}/{self.elites} (candidates/iterations/elites)."
            )

    @staticmethod
    def parse(text: str) -> "Budget":
        """From `candidates/iterations/elites`. Table 9 of the paper puts the elites before the iterations."""
        try:
            candidates, iterations, elites = (int(word) for word in text.split("/"))
        except ValueError as problem:
            raise RecipeError(
                f"A search budget is written candidates/iterations/elites, such as 300/30/30; found {text!r}."
            ) from problem
        return Budget(candidates=candidates, iterations=iterations, elites=elites)

    def __str__(self) -> str:
        return f"{self.candidates}/{self.iterations}/{self.elites}"


@dataclass(frozen=True)
class Found:
    """What a search returns."""

    proposal: Proposal
    best_cost: Float[Tensor, "b i"]
    mean_cost: Float[Tensor, "b i"]
    """Mean over candidates, per iteration."""
    predicted: State | None
    """States predicted for the best candidate of the last iteration, (b, h)."""
    fan: State | None = None
    """The same for as many of its best candidates as were asked for, (b, fan, h); None where none were."""

    @property
    def plan(self) -> Float[Tensor, "b h a"]:
        """The plan of the final proposal."""
        return self.proposal.plan


def search(cost: Cost, proposal: Proposal, budget: Budget, noise: Noise, fan: int = 0) -> Found:
    """CEM for Eqs. (8) to (10): sample, score, refit to the elites; the final proposal's plan is the answer.

    `fan` of the last iteration's elites are kept with what was predicted of them, for whoever wants to see them.
    """
    best: list[Tensor] = []
    mean: list[Tensor] = []
    predicted: State | None = None
    seen: State | None = None
    for iteration in range(budget.iterations):
        candidates = proposal.sample(budget.candidates, noise, iteration)
        score = cost(candidates)
        costs = score.cost.float().nan_to_num(nan=torch.inf)
        order = costs.argsort(dim=1, stable=True)[:, : budget.elites]
        proposal = proposal.refit(_take(candidates, order))
        best.append(costs.gather(1, order[:, :1])[:, 0])
        mean.append(costs.mean(1))
        if iteration == budget.iterations - 1 and score.predicted is not None:
            rows = torch.arange(len(order), device=order.device)
            predicted = score.predicted[rows, order[:, 0]]
            seen = score.predicted[rows[:, None], order[:, :fan]] if fan else None
    return Found(proposal, torch.stack(best, 1), torch.stack(mean, 1), predicted, seen)


def _take(candidates: Tensor, order: Tensor) -> Tensor:
    rows = torch.arange(len(order), device=order.device)[:, None]
    return candidates[rows, order]
