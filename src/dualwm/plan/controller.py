"""The three-stage controller: route, refinement, convergence (section 3.4). Low-level-only is `guided_decisions=0`.

Tasks at different points of their episodes are planned in one call: rows that need the same kind of search, with the
same window alignment, are searched together. A row's result never depends on which rows those are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.errors import ControllerError, RecipeError
from dualwm.plan.costs import converge_cost, refine_cost, route_cost
from dualwm.plan.memory import Memory
from dualwm.plan.noise import SEARCHES, Noise
from dualwm.plan.proposals import Box, Categorical, Gaussian, Proposal, Squashed, smooth_mixing, unsquash
from dualwm.plan.search import Found, search
from dualwm.plan.settings import PlannerSettings
from dualwm.plan.situation import Propose, Situation, usual
from dualwm.plan.trace import Decision
from dualwm.records import Goal, Observation
from dualwm.shapes import Tensor
from dualwm.states import State


class Model(Protocol):
    """The callables a planner receives. Rows first: a task's candidates, task by task. Whoever builds it cuts them into
    tiles, so that a row's result depends on no other row."""

    @property
    def window(self) -> int:
        """k, low steps per high step."""
        ...

    @property
    def low_history(self) -> int:
        """States P_L attends to."""
        ...

    @property
    def macro_width(self) -> int:
        """Numbers in a macro-action."""
        ...

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        ...

    @property
    def singly(self) -> "Model":
        """The same callables where a task brings one row."""
        ...

    def encode(self, observation: Observation) -> State:
        """E_L of the current frames, (b,)."""
        ...

    def encode_goal(self, goal: Goal) -> State:
        """E_L of the goal, (b,)."""
        ...

    def lift(self, window: State) -> State:
        """E_H: (rows, k) -> (rows,)."""
        ...

    def roll_low(self, context: State, actions: Tensor) -> State:
        """P_L: (rows, t) and (rows, t - 1 + n, a) -> (rows, n)."""
        ...

    def roll_high(self, z_H: State, macros: Tensor) -> State:
        """P_H: (rows,) and (rows, m, u) -> (rows, m)."""
        ...


class Actions(Protocol):
    """Between environment actions and model blocks."""

    @property
    def frame_skip(self) -> int:
        """f, environment steps per block."""
        ...

    @property
    def action_dim(self) -> int:
        """Width of an environment action."""
        ...

    @property
    def discrete_values(self) -> int | None:
        """How many values a discrete action has; None for continuous actions."""
        ...

    def to_model(self, executed: NDArray[np.float32]) -> Tensor:
        """(b, f, action_dim) environment actions -> (b, f * width) normalised block."""
        ...

    def to_env(self, block: Tensor) -> NDArray[np.float32]:
        """(b, f * width) -> (b, f, action_dim), inside the action box."""
        ...

    def box(self) -> Box:
        """Bounds of one block."""
        ...


@dataclass(frozen=True)
class ThreeStage:
    """Section 3.4's planner over a model's callables."""

    model: Model
    actions: Actions
    settings: PlannerSettings
    propose: Propose = usual
    """What each search samples from: a value that may look at context, goal and stage."""
    cameras: tuple[str, ...] = ("front",)
    """What the model looks through; nothing else is drawn for it."""
    fan: int = 0
    """How many elites of every low search its trace keeps with what was predicted of them: for viewers."""

    def __post_init__(self) -> None:
        settings, k = self.settings, self.model.window
        lasts = settings.route_every_decisions
        if settings.guided_decisions and (settings.low_plan_steps < k or not (lasts is None or 1 <= lasts <= k)):
            raise RecipeError(
                f"A high step of this model is window={k} low steps. Guidance needs low_plan_steps of at least that, "
                f"found {settings.low_plan_steps}, and route_every_decisions from 1 to {k} or None, found {lasts}. "
                "Change the planner's settings, or set guided_decisions=0 to plan at the low level only."
            )

    def start(self, goal: Goal, tasks: Sequence[int], seed: int) -> Memory:
        """Memory of new tasks: the goal encoded once in both spaces (section 3.4), nothing observed yet."""
        model, k, b = self.model, self.model.window, len(tasks)
        remembered = max(k, model.low_history)
        goal_L = model.encode_goal(goal)
        goal_H = model.singly.lift(goal_L.map(lambda x: x[:, None].expand(b, k, *x.shape[1:])))
        block = self.actions.frame_skip * (self.actions.discrete_values or self.actions.action_dim)
        nothing = torch.zeros(b, dtype=torch.long)
        return Memory(
            seed=seed,
            tasks=np.asarray(tasks, dtype=np.int64),
            decision=np.zeros(b, dtype=np.int64),
            goal_L=goal_L,
            goal_H=goal_H,
            history=goal_L.map(lambda x: torch.zeros_like(x)[:, None].repeat(1, remembered, *(1,) * (x.ndim - 1))),
            blocks=torch.zeros(b, remembered, block, device=model.device),
            seen=nothing,
            guided=nothing,
            routes=nothing,
            progress=nothing,
            converging=torch.zeros(b, dtype=torch.bool),
            subgoal=goal_H.map(lambda x: torch.full_like(x, torch.nan)),
            route=goal_H.map(
                lambda x: torch.full_like(x, torch.nan)[:, None].repeat(
                    1, self.settings.high_plan_steps, *(1,) * (x.ndim - 1)
                )
            ),
            macros=torch.full((b, self.settings.high_plan_steps, model.macro_width), torch.nan, device=model.device),
            plan=torch.full((b, self.settings.low_plan_steps, block), torch.nan, device=model.device),
            objective=torch.full((b,), -2),
            reuse=nothing,
        )

    def act(self, memory: Memory, observation: Observation) -> tuple[NDArray[np.float32], Memory, Decision]:
        """One decision of section 3.4 for every task: the first block of its plan, as environment actions."""
        memory = self._observe(memory, observation)
        memory, routed, route = self._plan_routes(memory)
        stage = self._stages(memory)
        trace = _Trace.of(self, memory, stage, routed, route)
        for rows in _groups(stage, memory.progress, memory.seen.clamp_max(self._context_length)):
            part, found = self._plan_low(memory.take(rows), int(stage[rows[0]]))
            memory = memory.put(rows, part)
            trace.record(rows, found)
        chunk = self.actions.to_env(memory.plan[:, 0])
        decision = trace.finish()
        return chunk, self._advance(memory, stage), decision

    @property
    def _context_length(self) -> int:
        return min(self.settings.history, self.model.low_history)

    def lift(self, memory: Memory) -> State:
        """The high state of the last k observed low states."""
        return self.model.singly.lift(memory.history[:, -self.model.window :])

    def _observe(self, memory: Memory, observation: Observation) -> Memory:
        """Append the current frame's latent, and the block that led to it, to the history."""
        z = self.model.encode(observation)
        first = memory.seen == 0
        shifted = memory.history.map(lambda x: torch.cat([x[:, 1:], x[:, :1]], 1))

        def place(old: Tensor, new: Tensor) -> Tensor:
            appended = torch.cat([old[:, :-1], new[:, None]], 1)
            repeated = new[:, None].expand_as(appended)
            return torch.where(first.view(-1, *(1,) * (appended.ndim - 1)).to(new.device), repeated, appended)

        history = State.join([shifted, z], lambda xs: place(xs[0], xs[1]))
        blocks = memory.blocks
        executed = self._executed(memory, observation)
        if executed is not None:
            block = self.actions.to_model(executed)
            blocks = torch.cat([blocks[:, 1:], block[:, None]], 1)
        return replace(memory, history=history, blocks=blocks, seen=memory.seen + 1)

    def _executed(self, memory: Memory, observation: Observation) -> NDArray[np.float32] | None:
        """The actions since the previous decision, checked; they may be missing where nothing looks at them."""
        executed = observation.executed
        expected = (len(memory.tasks), self.actions.frame_skip, self.actions.action_dim)
        needed = self._context_length > 1 and bool((memory.seen > 0).any())
        wrong = needed if executed is None else executed.shape != expected
        if wrong:
            raise ControllerError(
                "Observation.executed should hold the actions that each task executed since the previous decision, "
                f"(tasks, frame_skip, action_dim) = {expected}, and {executed if executed is None else executed.shape} "
                "came. Pass the chunk that act returned, as it was executed; a planner with history=1 needs none."
            )
        return executed

    def _plan_routes(self, memory: Memory) -> tuple[Memory, Tensor, Found | None]:
        """Stage 1 for the tasks whose subgoal is missing or used up: which they are, and what their search found."""
        settings = self.settings
        lasts = settings.route_every_decisions or self.model.window
        ready = memory.seen >= (1 if settings.padded_start else self.model.window)
        guided = ~memory.converging & (memory.guided < settings.guided_decisions) & ready
        need = guided & ((memory.routes == 0) | (memory.progress >= lasts))
        exhausted = need & (memory.routes >= settings.max_routes)
        finished = (memory.guided >= settings.guided_decisions) | exhausted
        memory = replace(memory, converging=memory.converging | finished)
        need = need & ~exhausted
        if not need.any():
            return memory, need, None
        rows = need.nonzero()[:, 0]
        part, found = self._plan_route(memory.take(rows))
        return memory.put(rows, part), need, found

    def _plan_route(self, memory: Memory) -> tuple[Memory, Found]:
        """Eq. (8): search macro-actions; the predicted states along them are the route, the first is the subgoal."""
        settings, model = self.settings, self.model
        z_H = self.lift(memory)
        b, steps = len(memory.tasks), settings.high_plan_steps
        mean = torch.zeros(b, steps, model.macro_width, device=model.device)
        if settings.warm_start_route:
            left = torch.cat([memory.macros[:, 1:], torch.full_like(memory.macros[:, :1], torch.nan)], 1)
            mean = left.nan_to_num(nan=0.0)
        cost = route_cost(model.roll_high, z_H, memory.goal_H, settings.reduction(settings.route_cost))
        fresh = Gaussian(mean, torch.full_like(mean, settings.high_std))
        proposal = self.propose(Situation("route", z_H[:, None], memory.goal_H, memory.goal_L, fresh))
        found = search(cost, proposal, settings.high_search, self._noise(memory, "route"))
        route = model.singly.roll_high(z_H, found.plan)
        nearest = route.distance(memory.goal_H[:, None]).argmin(1).cpu()
        close = nearest < settings.converge_within_high_steps
        memory = replace(
            memory,
            macros=found.plan,
            route=route,
            subgoal=route[:, 0],
            routes=memory.routes + 1,
            progress=torch.zeros_like(memory.progress),
            converging=memory.converging | close,
        )
        return memory, found

    def _stages(self, memory: Memory) -> Tensor:
        """Per task, section 3.4's stage: 1 refine, 2 converge; or 3, reuse a converging plan as in Appendix I."""
        direct = memory.converging | (memory.routes == 0)
        stage = torch.where(direct, 2, 1)
        return torch.where(direct & (memory.reuse > 0), 3, stage)

    def _plan_low(self, memory: Memory, stage: int) -> tuple[Memory, Found | None]:
        """Stages 2 and 3 for tasks that share stage, progress and context length."""
        if stage == 3:
            return memory, None
        settings, model = self.settings, self.model
        t = min(int(memory.seen[0]), self._context_length)
        context, past = memory.history[:, -t:], memory.blocks[:, memory.blocks.shape[1] - t + 1 :]
        if stage == 1:
            p = int(memory.progress[0])
            prefix = memory.history[:, -p:] if p else None
            cost = refine_cost(model.roll_low, model.lift, context, past, prefix, memory.subgoal, model.window)
            objective, name, target = memory.routes, "refine", memory.subgoal
        else:
            reduction = settings.reduction(settings.final_cost)
            cost = converge_cost(model.roll_low, context, past, memory.goal_L, reduction)
            objective, name, target = torch.full_like(memory.routes, -1), "converge", memory.goal_L
        proposal = self.propose(Situation(name, context, target, memory.goal_L, self._low_proposal(memory, objective)))
        found = search(cost, proposal, settings.low_search, self._noise(memory, name), self.fan)
        reuse = settings.final_reuse_decisions if stage == 2 else 0
        memory = replace(memory, plan=found.plan, objective=objective, reuse=torch.full_like(memory.reuse, reuse))
        return memory, found

    def _low_proposal(self, memory: Memory, objective: Tensor) -> Proposal:
        """A fresh or warm-started distribution. Another objective discards the old plan."""
        settings, actions = self.settings, self.actions
        keep = (memory.objective == objective) & settings.warm_start
        warm = torch.where(keep.to(memory.plan.device)[:, None, None], memory.plan, torch.nan)
        if actions.discrete_values is not None:
            one_hot = warm.view(*warm.shape[:-1], actions.frame_skip, actions.discrete_values)
            known = torch.where(one_hot.isnan().any(-1), -1, one_hot.nan_to_num(nan=0.0).argmax(-1))
            return Categorical.start(
                known,
                actions.discrete_values,
                settings.discrete_escape,
                settings.discrete_smoothing,
                settings.discrete_momentum,
            )
        box = actions.box()
        mixing = None
        if settings.correlation > 0:
            mixing = smooth_mixing(
                settings.low_plan_steps, actions.frame_skip, actions.action_dim, settings.correlation
            ).to(warm.device)
        std = torch.full_like(warm, settings.low_std)
        if settings.bounds == "tanh":
            return Squashed(Gaussian(unsquash(warm.nan_to_num(nan=0.0), box), std, mixing), box)
        return Gaussian(warm.nan_to_num(nan=0.0), std, mixing, box if settings.bounds == "clip" else None)

    def _advance(self, memory: Memory, stage: Tensor) -> Memory:
        """After the first block is handed out: shift the plan, count the decision."""
        missing = torch.full_like(memory.plan[:, :1], torch.nan)
        guided = (stage == 1).long()
        return replace(
            memory,
            plan=torch.cat([memory.plan[:, 1:], missing], 1),
            decision=memory.decision + 1,
            guided=memory.guided + guided,
            progress=memory.progress + guided,
            reuse=(memory.reuse - 1).clamp_min(0),
        )

    def _noise(self, memory: Memory, name: str) -> Noise:
        return Noise(memory.seed, memory.tasks, memory.decision, SEARCHES[name], self.model.device)


def _groups(*keys: Tensor) -> list[Tensor]:
    """Row indices grouped by equal keys, in a fixed order."""
    table = torch.stack([key.long() for key in keys], 1)
    unique, inverse = cast(tuple[Tensor, Tensor], torch.unique(table, dim=0, return_inverse=True))
    return [(inverse == i).nonzero()[:, 0] for i in range(len(unique))]


@dataclass
class _Trace:
    """Collects one decision's record while groups are being searched."""

    decision: Decision

    @staticmethod
    def of(controller: ThreeStage, memory: Memory, stage: Tensor, routed: Tensor, route: Found | None) -> "_Trace":
        settings, b = controller.settings, len(memory.tasks)
        z = memory.history[:, -1]
        z_H = controller.lift(memory)
        budgets = (settings.low_search, settings.high_search)
        empty, no_route = (np.full((b, budget.iterations), np.nan, np.float32) for budget in budgets)
        trace = _Trace(
            Decision(
                tasks=memory.tasks,
                stage=stage.numpy(),
                routed=routed.numpy(),
                progress=memory.progress.numpy(),
                subgoal=_numpy(memory.subgoal.latent),
                route=_numpy(memory.route.latent),
                best_cost=empty,
                mean_cost=empty.copy(),
                route_best_cost=no_route,
                route_mean_cost=no_route.copy(),
                predicted=np.full((b, settings.low_plan_steps, z.latent.shape[-1]), np.nan, np.float32),
                fan=np.full((b, controller.fan, settings.low_plan_steps, z.latent.shape[-1]), np.nan, np.float32),
                latent=_numpy(z.latent),
                distance_low=_numpy(z.distance(memory.goal_L)),
                distance_high=_numpy(z_H.distance(memory.goal_H)),
            )
        )
        if route is not None:
            trace.decision.route_best_cost[routed.numpy()] = _numpy(route.best_cost)
            trace.decision.route_mean_cost[routed.numpy()] = _numpy(route.mean_cost)
        return trace

    def record(self, rows: Tensor, found: Found | None) -> None:
        if found is None:
            return
        index = rows.numpy()
        self.decision.best_cost[index] = _numpy(found.best_cost)
        self.decision.mean_cost[index] = _numpy(found.mean_cost)
        if found.predicted is not None:
            predicted = _numpy(found.predicted.latent)
            self.decision.predicted[index, : predicted.shape[1]] = predicted
        if found.fan is not None:
            fan = _numpy(found.fan.latent)
            self.decision.fan[index, : fan.shape[1], : fan.shape[2]] = fan

    def finish(self) -> Decision:
        return self.decision


def _numpy(x: Tensor) -> NDArray[np.float32]:
    return x.detach().float().cpu().numpy()
