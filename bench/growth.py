"""How a measured fact grows with what was varied: medians by x, and the exponent of a power law through them."""

import statistics
from collections.abc import Iterable, Mapping
from math import log10
from typing import Any


def points(runs: Iterable[Mapping[str, Any]], series: str, fact: str) -> dict[float, float]:
    """x -> the median of a fact over repeats."""
    found: dict[float, list[float]] = {}
    for line in runs:
        if line.get("series") == series and fact in line:
            found.setdefault(line["x"], []).append(line[fact])
    return {x: statistics.median(values) for x, values in found.items()}


def exponent(found: Mapping[float, float]) -> float:
    """The slope of a straight line through the points' logarithms."""
    xs, ys = [log10(x) for x in found], [log10(y) for y in found.values()]
    x_mean, y_mean = statistics.fmean(xs), statistics.fmean(ys)
    products = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True))
    return products / sum((x - x_mean) ** 2 for x in xs)
