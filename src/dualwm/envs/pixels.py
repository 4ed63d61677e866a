"""Anti-aliasing, the same for every world that is drawn by hand: paint at one large size, average over areas."""

import numpy as np
from numpy.typing import NDArray


def area_weights(source: int, size: int) -> NDArray[np.float64]:
    """(size, source): which share of each target pixel every source pixel covers; rows sum to one."""
    edges = np.arange(size + 1) * (source / size)
    places = np.arange(source)
    covered = np.minimum(edges[1:, None], places + 1) - np.maximum(edges[:-1, None], places)
    return np.clip(covered, 0.0, None) * (size / source)


def whole_levels(grey: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Rounded to grey levels. The small extra makes exact halves round up on every machine, whatever the order of its
    sums."""
    return np.floor(grey + (0.5 + 1e-6)).astype(np.uint8)
