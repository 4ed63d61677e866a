"""The record of one decision: what the planner thought, cheap enough to be kept always."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

STAGES = ("route", "refine", "converge", "reuse")


@dataclass(frozen=True)
class Decision:
    """One decision of b tasks. Rows are the tasks alive at it.

    Recording it took 3 % of the time of a lone task's decision and 0.2 % of fifty's (`tworoom/laptop` on one core).
    """

    tasks: NDArray[np.int64]
    stage: NDArray[np.int64]
    """Index into STAGES: 1 refine, 2 converge, 3 a cached plan reused. A decision that also planned a route has
    `routed` set."""
    routed: NDArray[np.bool_]
    progress: NDArray[np.int64]
    """p, decisions since the subgoal was set."""
    subgoal: NDArray[np.float32]
    """(b, e) current high-level subgoal; NaN before the first."""
    route: NDArray[np.float32]
    """(b, m, e) high states along the current route; NaN before the first."""
    best_cost: NDArray[np.float32]
    """(b, i) best cost per iteration of the low search; NaN where no search ran."""
    mean_cost: NDArray[np.float32]
    route_best_cost: NDArray[np.float32]
    """(b, j) best cost per iteration of the route search; NaN where no route was planned."""
    route_mean_cost: NDArray[np.float32]
    predicted: NDArray[np.float32]
    """(b, h, d) low states predicted for the best candidate; NaN beyond what the cost needed."""
    latent: NDArray[np.float32]
    """(b, d) encoded current frame."""
    distance_low: NDArray[np.float32]
    """(b,) squared low-level distance of the current state to the goal."""
    distance_high: NDArray[np.float32]
    """(b,) the same at the high level."""
    fan: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0, 0, 0), np.float32))
    """(b, n, h, d) low states predicted for the n best candidates, where the controller was asked to keep them."""
