"""The published CEM over the published modules."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Box

from bench.child import median_seconds
from bench.flops import executed
from bench.peers.lewm import autocast, planning_model
from bench.peers.swm import swm

SCORES = Path(".bench") / "scores"
FRAME_SKIP, ACTION_DIM = 5, 2


def search(
    sizes: Mapping[str, int],
    weights: str,
    precision: str,
    tasks: int,
    candidates: int,
    iterations: int,
    elites: int,
    horizon: int,
    timed_iterations: int,
    times: int = 1,
) -> Mapping[str, Any]:
    """Seconds per task of its search between latents, all tasks in one batch."""
    model = planning_model(sizes, weights)

    def run(count: int) -> None:
        with autocast(precision):
            solver(model, tasks, candidates, count, elites, horizon).solve(latents(tasks, sizes["width"]))

    flops = executed(lambda: run(1)) * iterations
    seconds = median_seconds(lambda: run(timed_iterations), times) * iterations / timed_iterations
    return {"seconds": seconds / tasks, "flops": flops / tasks, "timed_iterations": timed_iterations}


def grown(told: Mapping[str, Any], **args: Any) -> Mapping[str, Any]:
    """One search, and where it belongs on its axis of growth."""
    return {**search(**args), **told}


def solver(model: Any, tasks: int, candidates: int, iterations: int, elites: int, horizon: int) -> Any:
    """Its CEM, told to plan all tasks in one batch."""
    made = swm.solver.CEMSolver(model, batch_size=tasks, num_samples=candidates, n_steps=iterations, topk=elites)
    plan = swm.PlanConfig(horizon=horizon, receding_horizon=1, action_block=FRAME_SKIP)
    made.configure(action_space=Box(-1, 1, (tasks, ACTION_DIM), np.float32), n_envs=tasks, config=plan)
    return made


def latents(tasks: int, width: int) -> dict[str, torch.Tensor]:
    """What its planning functions look at. With latents given it encodes no picture; it only counts their frames."""
    no_picture = torch.zeros(tasks, 1, 3, 1, 1)
    z, goal = numbers(2, tasks, width)[:, None], numbers(3, tasks, width)[:, None]
    return {"pixels": no_picture, "goal": no_picture, "emb": z, "goal_emb": goal}


@torch.inference_mode()
def scores(sizes: Mapping[str, int], weights: str, candidates: int, horizon: int, out: str) -> Mapping[str, Any]:
    """Leave its scores of the fixed candidates."""
    model = planning_model(sizes, weights)
    seen = {name: x[:, None].expand(1, candidates, *x.shape[1:]) for name, x in latents(1, sizes["width"]).items()}
    found = model.get_cost(seen, numbers(1, 1, candidates, horizon, sizes["block"]))
    SCORES.mkdir(parents=True, exist_ok=True)
    np.save(SCORES / f"{out}.npy", found[0].numpy())
    return {"seconds": 0.0}


def numbers(seed: int, *shape: int) -> torch.Tensor:
    """The same standard normals as on our side."""
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))
