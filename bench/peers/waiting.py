"""The published system as its users run it, at random weights: pictures in, one search, 25 environment steps out."""

from collections.abc import Mapping
from typing import Any

import torch

from bench.child import median_seconds
from bench.peers.lewm import autocast, trained_model
from bench.peers.planning import FRAME_SKIP, solver

VIT = {"kind": "vit", "image": 224, "patch": 14, "vit_width": 192, "vit_depth": 12, "vit_heads": 3}


def search(
    tasks: int,
    sizes: Mapping[str, int],
    projector_hidden: int,
    candidates: int,
    iterations: int,
    elites: int,
    horizon: int,
    timed_iterations: int,
    precision: str,
    told: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Seconds per environment step and task. Encoding is timed once, iterations as many times as a plan has them."""
    model = trained_model(sizes, 0.0, projector_hidden, VIT).eval().requires_grad_(False)
    pictures = torch.randn(2, tasks, 1, 3, 224, 224)

    def run(count: int) -> None:
        seen = {"pixels": pictures[0], "goal": pictures[1], "action": torch.zeros(tasks, 1, sizes["block"])}
        with autocast(precision):
            solver(model, tasks, candidates, count, elites, horizon).solve(seen)

    run(1)
    first = median_seconds(lambda: run(1), 1, warm=0)
    more = median_seconds(lambda: run(timed_iterations), 1, warm=0)
    if timed_iterations < iterations:
        per_iteration = (more - first) / max(1, timed_iterations - 1)
        more = first + per_iteration * (iterations - 1)
    return {"seconds": more / (tasks * horizon * FRAME_SKIP), "timed_iterations": timed_iterations, **told}
