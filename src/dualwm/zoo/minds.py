"""What `evaluate.failures` asks of a system that plans in three stages (Dual-WM, and LeWM with its one level)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.errors import RecipeError
from dualwm.evaluate.failures import MORE_SEARCH, Thoughts
from dualwm.evaluate.needs import Controller, keyed_generator
from dualwm.plan.controller import ThreeStage
from dualwm.plan.costs import converge_cost
from dualwm.plan.memory import Memory
from dualwm.records import Observation
from dualwm.report.nearest import nearest
from dualwm.shapes import Tensor
from dualwm.states import State
from dualwm.zoo.system import System

CANDIDATES = 32
"""Plans that are executed at a decision: the system's own, then as many near it as far from it."""
NEAR = 0.3
"""Deviation of those near it, in normalised actions; for discrete actions the share that is drawn anew."""


@dataclass(frozen=True, kw_only=True)
class ThreeStageMind:
    """A controller, the same with ten times the search, and real frames to read imagined latents by."""

    controller: ThreeStage
    larger: Controller
    latents: NDArray[np.float32]
    """(n, d) low latents of real frames."""
    states: NDArray[np.float32]
    """(n, state_width) where they were taken."""

    @staticmethod
    def of(system: System, variant: str, goal_offset_env_steps: int, overrides: Mapping[str, Any]) -> "ThreeStageMind":
        """The mind of a loaded system under one of its planner variants."""
        controller = system.controller(variant, goal_offset_env_steps, **overrides)
        if not isinstance(controller, ThreeStage):
            raise RecipeError(
                f"{system.name} does not plan in the three stages of section 3.4, and what it imagines cannot be asked "
                "for. Label the failures of a Dual-WM or LeWM system."
            )
        settings = controller.settings
        wider = {
            name: replace(size, candidates=MORE_SEARCH * size.candidates)
            for name, size in (("low_search", settings.low_search), ("high_search", settings.high_search))
        }
        larger = system.controller(
            variant, goal_offset_env_steps, **{**overrides, **{name: str(size) for name, size in wider.items()}}
        )
        bank = system.bank
        return ThreeStageMind(controller=controller, larger=larger, latents=bank.low, states=bank.states)

    @torch.inference_mode()
    def think(self, before: Memory, observation: Observation, after: Memory, chunk: NDArray[np.float32]) -> Thoughts:
        """The plan, what the low level predicts of it, and what its kind of plans would cost towards the goal.

        The cost is the one of the level that guided the decision: low latents while converging (Eq. (10)), else the
        high latent of the last window (the distance of Eq. (8)).
        """
        del observation
        first = self.controller.actions.to_model(chunk)
        plan = torch.cat([first[:, None], after.plan[:, :-1]], 1)
        known = ~plan.isnan().any(-1)
        plan = torch.where(known[..., None], plan, 0.0)
        candidates = self._candidates(after, plan)
        predicted, low = self._predict(after, candidates)
        guided = after.guided > before.guided
        high = self._high_cost(after, predicted) if guided.any() else low
        cost = torch.where(guided.to(low.device)[:, None], high, low)
        return Thoughts(
            plan=self._to_env(plan),
            imagined=self._read(predicted.latent[:, 0], known),
            candidates=self._to_env(candidates),
            cost=cost.float().cpu().numpy(),
        )

    def _predict(self, memory: Memory, candidates: Tensor) -> tuple[State, Tensor]:
        """Predicted low states of every candidate, and their distance to the goal as convergence counts it."""
        model, settings = self.controller.model, self.controller.settings
        t = min(int(memory.seen[0]), settings.history, model.low_history)
        context, past = memory.history[:, -t:], memory.blocks[:, memory.blocks.shape[1] - t + 1 :]
        reduction = settings.reduction(settings.final_cost)
        score = converge_cost(model.roll_low, context, past, memory.goal_L, reduction)(candidates)
        assert score.predicted is not None
        return score.predicted, score.cost

    def _high_cost(self, memory: Memory, predicted: State) -> Tensor:
        """Distance between the last window of every prediction, lifted, and the goal's high state."""
        k = self.controller.model.window
        b, s = predicted.batch_shape[:2]
        window = predicted.map(lambda x: x[:, :, -k:].flatten(0, 1))
        lifted = self.controller.model.lift(window).map(lambda x: x.reshape(b, s, *x.shape[1:]))
        return lifted.distance(memory.goal_H.map(lambda x: x[:, None]))

    def _candidates(self, memory: Memory, plan: Tensor) -> Tensor:
        """(b, s, h, a): the plan, plans near it, and plans far from it; a function of (seed, task, decision)."""
        rows = zip(memory.tasks.tolist(), memory.decision.tolist(), plan, strict=True)
        return torch.stack([self._some(row, "candidates", memory.seed, task, at) for task, at, row in rows])

    def _some(self, plan: Tensor, *key: int | str) -> Tensor:
        generator = keyed_generator("failures", *key)
        values = self.controller.actions.discrete_values
        spread = np.repeat([0.0, NEAR, 1.0], [1, (CANDIDATES - 1) // 2, CANDIDATES - 1 - (CANDIDATES - 1) // 2])
        if values is not None:
            return self._some_discrete(plan, values, spread, generator)
        std = torch.from_numpy(np.where(spread == 1.0, self.controller.settings.low_std, spread)).to(plan)
        noise = torch.from_numpy(generator.standard_normal((CANDIDATES, *plan.shape))).to(plan)
        centre = torch.where(std[:, None, None] == std[-1], 0.0, plan)
        return centre + std[:, None, None] * noise

    def _some_discrete(
        self, plan: Tensor, values: int, spread: NDArray[np.float64], generator: np.random.Generator
    ) -> Tensor:
        """One-hot actions, of which a share is drawn anew."""
        chosen = plan.reshape(*plan.shape[:-1], -1, values).argmax(-1).cpu().numpy()
        other = generator.integers(values, size=(CANDIDATES, *chosen.shape))
        anew = generator.random(other.shape) < spread[:, None, None]
        mixed = torch.from_numpy(np.where(anew, other, chosen))
        return torch.nn.functional.one_hot(mixed, values).flatten(-2).to(plan)

    def _to_env(self, blocks: Tensor) -> NDArray[np.float32]:
        """(..., h, a) blocks -> (..., h * f, action_dim) environment actions."""
        env = self.controller.actions.to_env(blocks.flatten(0, -2))
        return env.reshape(*blocks.shape[:-2], -1, env.shape[-1])

    def _read(self, latents: Tensor, known: Tensor) -> NDArray[np.float64]:
        """States (b, h, state_width) of the real frames nearest to predicted latents.

        Where a plan had come to its end nothing was imagined: the last that was stands for it.
        """
        flat = latents.float().cpu().numpy().reshape(-1, latents.shape[-1])
        states = self.states[nearest(flat, self.latents)].reshape(*latents.shape[:2], -1).astype(np.float64)
        last = torch.cummax(torch.where(known, torch.arange(known.shape[1], device=known.device), 0), 1).values
        return np.take_along_axis(states, last.cpu().numpy()[..., None], axis=1)
