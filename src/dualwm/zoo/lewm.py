"""LeWM on one page, the system Dual-WM is calibrated against: one latent space, one-step supervision, flat search.

Its model is Dual-WM's low level and nothing else. What differs is how that is trained,

    L = mean_t |P(z_<=t, a_<=t) - z_{t+1}|^2 + lambda EP(z)        every context holds encoded states only

with EP the Epps-Pulley statistic of the latents (times the batch), and that it plans with the low level alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.errors import RecipeError
from dualwm.evaluate.needs import Controller
from dualwm.loss.gaussian import Gaussian
from dualwm.loss.lore import horizon_errors
from dualwm.model.dual import Low, LowConfig
from dualwm.model.dynamics import supervised_targets
from dualwm.model.prepared import prepared_low
from dualwm.nets.batchnorm import reestimating
from dualwm.nets.dropout import DropoutKey, keyed
from dualwm.plan.costs import Roll
from dualwm.plan.settings import PlannerSettings
from dualwm.records import Observation
from dualwm.reduce import Reduce
from dualwm.registry import nested, part, to_plain
from dualwm.shapes import Float, Tensor
from dualwm.states import State
from dualwm.train.stage import Batch, StageSettings, StepKey, Watch
from dualwm.zoo.method import Acting, Sees, TrainingInputs
from dualwm.zoo.planning import PlanningModel, frozen_copy, planner_settings, three_stage
from dualwm.zoo.sources import Encode, encode_windows
from dualwm.zoo.stages import WindowStage


@dataclass(frozen=True, kw_only=True)
class LeWMObjective:
    """L above."""

    contexts: int = 1
    """Contexts of P in a training window, which therefore holds history + contexts low steps. LeWM's window of four
    latents is one context of three states; a predictor without history needs several to see as many transitions."""
    regulariser: Gaussian = nested(Gaussian, Gaussian(form="epps_pulley"))
    """EP."""
    regulariser_weight: float = 0.09
    """lambda. It weighs a statistic that grows with the batch: not comparable with Dual-WM's."""

    def __post_init__(self) -> None:
        if self.contexts < 1:
            raise RecipeError(f"LeWM trains on at least one context of its predictor, found contexts={self.contexts}.")


def one_step(low: Low, z: Float[Tensor, "b t d"], a: Float[Tensor, "b t a"]) -> tuple[Tensor, Tensor]:
    """P(z_<=t, a_<=t) and z_{t+1} for every position of every context of encoded states, (b * contexts, t', d)."""
    h = low.P_L.history

    def contexts(x: Tensor) -> Tensor:
        return torch.stack([x[:, j : j + h] for j in range(z.shape[1] - h)], 1).flatten(0, 1)

    return low.P_L(contexts(z), contexts(low.embed_action(a))), contexts(z[:, 1:])


def lewm_terms(
    low: Low,
    z: Float[Tensor, "b t d"],
    a: Float[Tensor, "b t a"],
    c: LeWMObjective,
    step: StepKey,
    reduce: Reduce,
) -> dict[str, Tensor]:
    """The two terms of L. Targets keep their gradient: nothing is stopped."""
    z_hat, z_next = one_step(low, z, a)
    return {
        "prediction": (z_hat.float() - z_next).square().mean(),
        "gauss": c.regulariser(z, step.generator("gauss"), reduce),
    }


class LeWMStage(WindowStage):
    """Trains everything on frames, in one stage."""

    name = "low"

    def __init__(self, method: "LeWMMethod", inputs: TrainingInputs) -> None:
        super().__init__(
            method.stage, inputs, method.sees, frame_skip=method.frame_skip, low_steps=method.low_steps_needed
        )
        self.objective = method.objective

    @property
    def weights(self) -> Mapping[str, float]:
        """1 and lambda."""
        return {"prediction": 1.0, "gauss": self.objective.regulariser_weight}

    def trained(self, model: Low) -> list[nn.Module]:
        """Everything."""
        return [model]

    def terms(self, model: Low, batch: Batch, step: StepKey) -> dict[str, Tensor]:
        """L, term by term."""
        with keyed(model, DropoutKey(step.seed, step.step, step.sample_ids)):
            z = self._encoded(model, batch)
            return lewm_terms(model, z, batch["actions"], self.objective, step, self.inputs.reduce)

    def watch(self, model: Low, batch: Batch, step: StepKey) -> Watch:
        """Error by horizon of self-generated rollouts, which training never looks at, and latent statistics."""
        z, steps = self._encoded(model, batch), self.objective.contexts
        z_hat = model.P_L.supervised(z, model.embed_action(batch["actions"]), steps, free=True, truncate=False)
        errors = horizon_errors(z_hat, supervised_targets(z, steps, model.P_L.history))
        return Watch(rollout_error={"low": errors}, latents={"low": z.flatten(0, 1)})

    def finish(self, model: Low, batches: Iterator[tuple[Batch, StepKey]]) -> None:
        """Re-estimate BatchNorm statistics at the final weights."""
        with reestimating(model):
            for _, (batch, _step) in zip(range(32), batches, strict=False):
                one_step(model, self._encoded(model, batch), batch["actions"])

    def _encoded(self, model: Low, batch: Batch) -> Float[Tensor, "b t d"]:
        return encode_windows(_encoder(model), batch, self.sees).latent


def _encoder(model: Low) -> Encode:
    def encode(frames: dict[str, Tensor], proprio: dict[str, Tensor]) -> State:
        return State(model.E_L(frames, proprio))

    return encode


ROUTE_SETTINGS = frozenset(
    {
        "high_search",
        "high_plan_steps",
        "guided_decisions",
        "max_routes",
        "route_every_decisions",
        "converge_within_high_steps",
        "route_cost",
        "high_std",
        "warm_start_route",
        "padded_start",
    }
)
"""Planner settings that speak of a high level; LeWM has none and refuses to be told them."""

LEWM_PLANNER: Mapping[str, Any] = {
    "low_search": "300/30/30",
    "low_plan_steps": 5,
    "final_reuse_decisions": 5,
    "final_cost": "terminal",
    "history": 1,
    "low_std": 1.0,
    "correlation": 0.0,
    "bounds": "none",
    "warm_start": False,
}
"""LeWM's own search: plans of five blocks, all of them executed. One flag away: `SYSTEM:paper`."""


@part("method", "lewm")
@dataclass(frozen=True, kw_only=True)
class LeWMMethod:
    """LeWM: sizes, objective, optimisation."""

    frame_skip: int
    """f, environment steps per low step."""
    action_dim: int
    """Width of one environment action (one-hot width for discrete actions)."""
    low: LowConfig = nested(LowConfig)
    """Sizes of encoder and predictor: Dual-WM's low level."""
    objective: LeWMObjective = nested(LeWMObjective, LeWMObjective())
    """What is minimised."""
    stage: StageSettings = nested(StageSettings)
    """Optimisation."""

    @property
    def sees(self) -> Sees:
        """The encoder's cameras and columns."""
        return self.low.encoder

    @property
    def low_steps_needed(self) -> int:
        """Frames of one training window, in low steps."""
        return self.low.history + self.objective.contexts

    def build(self) -> Low:
        """The model at random weights."""
        return Low(self.low, self.frame_skip * self.action_dim)

    def geometry(self) -> list[tuple[str, int, int]]:
        """(stage, frame_skip, low steps) of the windows the stage reads, for `data check`."""
        return [("low", self.frame_skip, self.low_steps_needed)]

    def stages(self, inputs: TrainingInputs) -> Sequence[LeWMStage]:
        """One."""
        return [LeWMStage(self, inputs)]

    def variants(self) -> Mapping[str, Mapping[str, Any]]:
        """Planner variants by name: the two costs, and LeWM's own search."""
        return {
            "full": {},
            "terminal": {"final_cost": "terminal"},
            "soft-minimum": {"final_cost": "soft_minimum"},
            "paper": LEWM_PLANNER,
        }

    def settings(self, plain: Mapping[str, Any], where: str) -> PlannerSettings:
        """Planner settings from plain data; there is no guidance, and what would shape it can only be as it always is."""
        unguided = to_plain(PlannerSettings(guided_decisions=0))
        refused = sorted(name for name in ROUTE_SETTINGS & plain.keys() if plain[name] != unguided[name])
        if refused:
            raise RecipeError(
                f"{where}: LeWM has no high level, so it has no planner setting {refused[0]!r}. Leave it out."
            )
        return planner_settings({**plain, "guided_decisions": 0}, where)

    def controller(self, model: nn.Module, settings: PlannerSettings, acting: Acting) -> Controller:
        """Flat search towards the goal's latent: the last of the three stages alone."""
        assert isinstance(model, Low)
        frozen = frozen_copy(model, acting, settings.precision)
        fast = prepared_low(model, getattr(torch, settings.precision), acting.device)
        callables = self._callables(frozen, acting.normalizer, lambda z, a: State(fast(z.latent, a)))
        return three_stage(callables, settings, acting, frame_skip=self.frame_skip)

    def describe(self, model: nn.Module, observation: Observation, normalizer: Normalizer) -> Mapping[str, State]:
        """Latents of what is seen."""
        assert isinstance(model, Low)
        callables = self._callables(model, normalizer, lambda z, a: State(model.rollout(z.latent, a)))
        return {"low": callables.encode(observation)}

    def _callables(self, model: Low, normalizer: Normalizer, low: Roll) -> PlanningModel:
        return PlanningModel(
            sees=self.sees,
            normalizer=normalizer,
            encoder=_encoder(model),
            low=low,
            low_history=self.low.history,
            device=next(model.parameters()).device,
        )
