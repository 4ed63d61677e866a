"""A bank of macro-actions that occurred: searched with small residuals, and the best one tried is what is returned."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Self

import torch
from torch import nn

from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Proposal
from dualwm.plan.situation import Propose, Situation
from dualwm.registry import part
from toys_systems import shared
from toys_systems.shared_latent import MACRO, WAYPOINTS, SharedLatent, TwoScales, WaypointStage

ENTRIES = 16
RESIDUAL = 0.1


class Bank(nn.Module):
    """Macro-action sequences of training windows."""

    entries: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("entries", torch.zeros(ENTRIES, WAYPOINTS, MACRO))


class BankModel(TwoScales):
    def __init__(self) -> None:
        super().__init__()
        self.bank = Bank()


class BankStage(WaypointStage):
    """Fills the bank at the end, with the final macro-encoder."""

    def trained(self, model) -> list[nn.Module]:
        return [*super().trained(model), model.bank]

    def finish(self, model: BankModel, batches: Iterator[Any]) -> None:
        needed = -(-ENTRIES // self.settings.batch_size)
        with torch.no_grad():
            found = [self.waypoints(model, batch, step)[1] for batch, step in islice(batches, needed)]
        model.bank.entries.copy_(torch.cat(found)[:ENTRIES])


@dataclass(frozen=True)
class BankResidual:
    """Entries drawn alike, plus residuals whose spread follows the elites. Costs come sorted: the first is the best."""

    bank: torch.Tensor
    """(n, h, u)"""
    std: torch.Tensor
    """(b, h, u)"""
    best: torch.Tensor
    """(b, h, u), tried before and kept as candidate 0."""

    @property
    def plan(self) -> torch.Tensor:
        return self.best

    def sample(self, count: int, noise: Noise, iteration: int) -> torch.Tensor:
        entries = self.bank[noise.integers(iteration, len(self.bank), (count,))]
        candidates = entries + self.std[:, None] * noise.normal(iteration, (count, *self.bank.shape[1:]))
        candidates[:, 0] = self.best
        return candidates

    def refit(self, elites: torch.Tensor) -> Self:
        return replace(self, std=(elites - nearest(self.bank, elites)).std(1), best=elites[:, 0])


def nearest(bank: torch.Tensor, macros: torch.Tensor) -> torch.Tensor:
    """The bank's entry closest to each sequence (..., h, u)."""
    gap = (macros[..., None, :, :] - bank).square().sum((-2, -1))
    return bank[gap.argmin(-1)]


@part("method", "toy_macro_bank")
@dataclass(frozen=True, kw_only=True)
class MacroBank(SharedLatent):
    def build(self) -> BankModel:
        return BankModel()

    def stages(self, inputs) -> list[Any]:
        return [super().stages(inputs)[0], BankStage(self, inputs)]

    def proposing(self, frozen: BankModel) -> Propose:
        bank = frozen.bank.entries.float()

        def propose(situation: Situation) -> Proposal:
            if situation.stage != "route":
                return situation.usual
            plan = situation.usual.plan
            return BankResidual(bank, torch.full_like(plan, RESIDUAL), nearest(bank, plan))

        return propose


METHOD = MacroBank()
PLANNER = {**shared.PLANNER, "guided_decisions": 3, "high_plan_steps": WAYPOINTS}
