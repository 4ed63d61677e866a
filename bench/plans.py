"""Sides of W1 and W1b: one low-level search by the package's own pieces, and its scores of fixed candidates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from bench.cases import WORK
from bench.child import median_seconds
from bench.flops import executed
from bench.models import controller, numbers, plain, random_model
from dualwm.plan.costs import Terminal, converge_cost
from dualwm.plan.noise import SEARCHES, Noise
from dualwm.plan.proposals import Gaussian, smooth_mixing
from dualwm.plan.search import Budget, Cost, search
from dualwm.states import State

SCORES = WORK / "scores"
"""Where the scores of fixed candidates are left for the next side to compare with."""


def ours(
    size: str,
    precision: str,
    tasks: int,
    candidates: int,
    iterations: int,
    elites: int,
    horizon: int,
    tile_rows: int,
    timed_iterations: int,
    correlation: float = 0.0,
    clip: bool = False,
    times: int = 1,
) -> Mapping[str, Any]:
    """Seconds per task of a search towards the goal's latent. `timed_iterations` of its iterations are run and timed;
    all of them do the same work."""
    method, model = random_model(size)
    planner = controller(method, model, precision=precision, tile_rows=tile_rows)
    width, block = method.model.low.width, method.model.block_width
    cost = goal_cost(planner, numbers(2, tasks, width), numbers(3, tasks, width))
    mean = torch.zeros(tasks, horizon, block)
    mixing = smooth_mixing(horizon, method.model.frame_skip, 2, correlation) if correlation else None
    proposal = Gaussian(mean, torch.ones_like(mean), mixing, planner.actions.box() if clip else None)
    noise = Noise(0, np.arange(tasks), np.zeros(tasks, np.int64), SEARCHES["converge"])

    def run(count: int) -> None:
        search(cost, proposal, Budget(candidates=candidates, iterations=count, elites=elites), noise)

    flops = executed(lambda: run(1)) * iterations
    seconds = median_seconds(lambda: run(timed_iterations), times) * iterations / timed_iterations
    return {"seconds": seconds / tasks, "flops": flops / tasks, "timed_iterations": timed_iterations}


def goal_cost(planner: Any, z: torch.Tensor, goal: torch.Tensor) -> Cost:
    """Eq. (10), terminal, for tasks that have observed one state."""
    past = torch.zeros(len(z), 0, planner.actions.frame_skip * planner.actions.action_dim)
    return converge_cost(planner.model.roll_low, State(z[:, None]), past, State(goal), Terminal())


def plain_scores(size: str, candidates: int, horizon: int, elites: int) -> Mapping[str, Any]:
    """Leave the plain reference's scores of the fixed candidates."""
    del elites
    method, model = random_model(size)
    width = method.model.low.width
    with torch.inference_mode():
        scores = plain(method, model).converge(numbers(2, 1, width)[0], numbers(3, 1, width)[0])
        found = scores(numbers(1, candidates, horizon, method.model.block_width))
    SCORES.mkdir(parents=True, exist_ok=True)
    np.save(SCORES / f"{size}-reference.npy", found.numpy())
    return {"seconds": 0.0}


def ours_scores(size: str, precision: str, candidates: int, horizon: int, elites: int, other: str) -> Mapping[str, Any]:
    """How far our scores of fixed candidates are from those that `other` left: values, ranks, elites."""
    method, model = random_model(size)
    planner = controller(method, model, precision=precision)
    width = method.model.low.width
    cost = goal_cost(planner, numbers(2, 1, width), numbers(3, 1, width))
    mine = cost(numbers(1, 1, candidates, horizon, method.model.block_width)).cost[0].double().numpy()
    return {"seconds": 0.0, **differences(mine, np.load(SCORES / f"{size}-{other}.npy").astype(float), elites)}


def differences(mine: np.ndarray, theirs: np.ndarray, elites: int) -> Mapping[str, Any]:
    """Largest relative difference, rank correlation, share of common elites; and how much the scores differ at all."""
    ranks = [np.argsort(np.argsort(scores, kind="stable")).astype(float) for scores in (mine, theirs)]
    best = [set(np.argsort(scores, kind="stable")[:elites].tolist()) for scores in (mine, theirs)]
    return {
        "max_relative": float(np.max(np.abs(mine - theirs) / np.abs(theirs))),
        "rank_correlation": float(np.corrcoef(*ranks)[0, 1]),
        "elite_overlap": len(best[0] & best[1]) / elites,
        "spread_of_scores": float(theirs.std() / theirs.mean()),
    }
