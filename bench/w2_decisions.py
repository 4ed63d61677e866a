"""W2: whole decisions of the three-stage planner at the paper's size, against the plain reference.

W2a is the first decision towards a far goal: a route, then a guided search. W2b is a converging decision.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from bench.cases import Bound, Case, Options, Ratio, Side, Workload
from bench.flops import executed, of_searches
from bench.models import controller, numbers, plain, random_model
from bench.reference import Part, predict, search
from dualwm.model.dual import DualWM
from dualwm.plan.costs import Terminal, converge_cost, refine_cost, route_cost
from dualwm.plan.noise import SEARCHES, Noise
from dualwm.plan.search import Budget
from dualwm.records import Goal, Observation
from dualwm.states import State
from dualwm.zoo.dual_wm_method import DualWMMethod

BUDGETS = {"low": "300/30/30", "high": "100/20/10"}
QUICK = {"low": "16/2/4", "high": "16/2/4"}
LOW_STEPS, HIGH_STEPS = 8, 6


def cases(options: Options) -> Sequence[Case]:
    """The same scores; the reference's own pace; the two decisions, for 1 and 10 tasks."""
    size, budgets = ("tiny", QUICK) if options.quick else ("paper", BUDGETS)
    args = {"size": size, **budgets}
    candidates = int(budgets["low"].split("/")[0])
    same = Side(name="ours float32", call="bench.w2_decisions:scores", args={"size": size, "candidates": candidates})
    call = Side(
        name="reference",
        call="bench.w2_decisions:one_call",
        args={"size": size, "candidates": candidates},
        precision="float32",
    )
    made = [
        Case(
            name="scores",
            unit="candidate",
            sides=[same],
            repeats=1,
            goals=[Bound(side="ours float32", fact=f"{stage}_max_relative", at_most=1e-4) for stage in STAGES],
        ),
        Case(
            name="the reference's predictor",
            unit="call",
            sides=[call],
            goals=[Bound(side="reference", fact="share_of_rate", at_least=0.7)],
        ),
    ]
    guided = [_decisions("W2a route + guided", {**args, "guided": True}, tasks, 3.5) for tasks in (1, 10)]
    converging = [_decisions("W2b converging", {**args, "guided": False}, tasks, 1.5) for tasks in (1, 10)]
    return [*made, *guided, *converging]


def _decisions(name: str, args: Mapping[str, Any], tasks: int, goal: float) -> Case:
    return Case(
        name=f"{name}, {tasks} task{'s' * (tasks > 1)}",
        unit="decision",
        sides=decision_sides(args, tasks),
        goals=[
            Ratio(ours="ours float32", other="reference", at_least=goal),
            Ratio(ours="ours bfloat16", other="reference"),
        ],
        repeats=3 if tasks == 1 else 2,
    )


def decision_sides(args: Mapping[str, Any], tasks: int) -> list[Side]:
    """Ours in both precisions, and the reference."""
    ours = [
        Side(
            name=f"ours {precision}",
            call="bench.w2_decisions:ours",
            args={**args, "tasks": tasks, "precision": precision},
            precision=precision,
        )
        for precision in ("float32", "bfloat16")
    ]
    plainly = Side(name="reference", call="bench.w2_decisions:reference", args=dict(args), precision="float32")
    return [*ours, plainly]


def ours(size: str, guided: bool, low: str, high: str, tasks: int, precision: str) -> Mapping[str, Any]:
    """Seconds per task of a first decision of the package's controller, the current frame's encoding included."""
    method, model = random_model(size)
    observation, goal = _pictures(method, tasks, 4), Goal(frames=_pictures(method, tasks, 5).frames)

    def decision(low_iterations: int, high_iterations: int) -> Callable[[], Any]:
        planner = controller(
            method,
            model,
            precision=precision,
            tile_rows=Budget.parse(low).candidates,
            low_search=_cut(low, low_iterations),
            high_search=_cut(high, high_iterations),
            guided_decisions=6 if guided else 0,
        )
        memory = planner.start(goal, range(tasks), seed=0)
        return lambda: planner.act(memory, observation)

    iterations = Budget.parse(low).iterations, Budget.parse(high).iterations
    flops, seconds = of_searches(decision, *iterations), _seconds(decision(*iterations))
    return {"seconds": seconds / tasks, "flops": flops / tasks}


def reference(size: str, guided: bool, low: str, high: str) -> Mapping[str, Any]:
    """The same decision, plainly: one task, every rollout over the whole horizon, every context recomputed."""
    method, model = random_model(size)
    observation, goal = _pictures(method, 1, 4), _pictures(method, 1, 5)
    goal_L = _encode(model, goal)

    def decision(low_iterations: int, high_iterations: int) -> Callable[[], Any]:
        budgets = _cut(low, low_iterations), _cut(high, high_iterations)
        return lambda: _decide(method, model, observation, goal_L, guided, *budgets)

    iterations = Budget.parse(low).iterations, Budget.parse(high).iterations
    return {"flops": of_searches(decision, *iterations), "seconds": _seconds(decision(*iterations))}


@torch.inference_mode()
def _decide(
    method: DualWMMethod,
    model: DualWM,
    observation: Observation,
    goal_L: torch.Tensor,
    guided: bool,
    low: str,
    high: str,
) -> torch.Tensor:
    yardstick, k, block = plain(method, model), method.model.window, method.model.block_width
    z = _encode(model, observation)
    scores = yardstick.converge(z, goal_L)
    if guided:
        z_H, goal_H = (yardstick.lift(x.expand(1, k, -1))[0] for x in (z, goal_L))
        macro_width = method.model.high.macro_encoder.macro_width
        route = _search(yardstick.route(z_H, goal_H), high, (HIGH_STEPS, macro_width), "route")
        scores = yardstick.refine(z, yardstick.roll_high(z_H, route[None])[0, 0])
    return _search(scores, low, (LOW_STEPS, block), "refine" if guided else "converge")


def _search(scores: Any, budget: str, shape: tuple[int, int], stage: str) -> torch.Tensor:
    found = Budget.parse(budget)
    noise = Noise(0, np.zeros(1, np.int64), np.zeros(1, np.int64), SEARCHES[stage])

    def draw(iteration: int) -> torch.Tensor:
        return noise.normal(iteration, (found.candidates, *shape))[0]

    return search(scores, torch.zeros(shape), torch.ones(shape), draw, found.iterations, found.elites)


def one_call(size: str, candidates: int, times: int = 40) -> Mapping[str, Any]:
    """One call of the reference's predictor on every candidate's full context."""
    method, model = random_model(size)
    low = method.model.low
    part = Part(plain(method, model).weights, "low.P_L", low.predictor.heads)
    states, conditions = (numbers(seed, candidates, low.history, low.width) for seed in (6, 7))
    with torch.inference_mode():
        flops = executed(lambda: predict(part, states, conditions))
        spent = sorted(_seconds(lambda: predict(part, states, conditions)) for _ in range(times))
    return {"seconds": spent[times // 2], "flops": flops}


STAGES = ("route", "refine", "converge")


@torch.inference_mode()
def scores(size: str, candidates: int) -> Mapping[str, Any]:
    """Largest relative difference of the three costs from the reference's, on the same candidates."""
    method, model = random_model(size)
    low, width = method.model.low, method.model.high.macro_encoder.macro_width
    calls, yardstick = controller(method, model, tile_rows=candidates).model, plain(method, model)
    z, goal = numbers(2, 1, low.width), numbers(3, 1, low.width)
    blocks = numbers(1, 1, candidates, LOW_STEPS, method.model.block_width)
    macros = numbers(8, 1, candidates, HIGH_STEPS, width)
    past, terminal = blocks[:, 0, :0], Terminal()
    context = State(z[:, None])
    ours = {
        "route": route_cost(calls.roll_high, State(z), State(goal), terminal)(macros),
        "refine": refine_cost(calls.roll_low, calls.lift, context, past, None, State(goal), calls.window)(blocks),
        "converge": converge_cost(calls.roll_low, context, past, State(goal), terminal)(blocks),
    }
    theirs = {
        "route": yardstick.route(z[0], goal[0])(macros[0]),
        "refine": yardstick.refine(z[0], goal[0])(blocks[0]),
        "converge": yardstick.converge(z[0], goal[0])(blocks[0]),
    }
    gaps = {name: (ours[name].cost[0] - theirs[name]).abs() / theirs[name] for name in STAGES}
    return {"seconds": 0.0, **{f"{name}_max_relative": float(gap.max()) for name, gap in gaps.items()}}


def _pictures(method: DualWMMethod, tasks: int, seed: int) -> Observation:
    draw = np.random.default_rng(seed)
    frames = {
        name: draw.integers(0, 256, (tasks, height, width, 3), np.uint8) for name, height, width in method.sees.cameras
    }
    return Observation(frames=frames)


@torch.inference_mode()
def _encode(model: DualWM, observation: Observation) -> torch.Tensor:
    return model.encode({name: torch.from_numpy(frames) for name, frames in observation.frames.items()})[0]


def _cut(budget: str, iterations: int) -> str:
    whole = Budget.parse(budget)
    return str(Budget(candidates=whole.candidates, iterations=iterations, elites=whole.elites))


def _seconds(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


WORKLOAD = Workload(
    name="W2",
    title="Whole decisions, paper's size",
    cases=cases,
    notes=(
        "The first decision of a task, from pictures: encode the frame, search a route of macro-actions (100/20/10), "
        "then blocks towards its first subgoal (300/30/30); and a decision that converges on the goal (300/30/30). "
        "The reference rolls every candidate out over the whole horizon, recomputes every context and plans one task "
        "at a time; it is held to 70 % of the matrix rate per predictor call. Seconds are per task."
    ),
)
