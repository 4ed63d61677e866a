"""Maps of a distance to one goal over a grid of positions, and how well two of them agree about what is far."""

import base64
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

EMPTY = 255
"""The code of a cell in which there is nothing to measure."""


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Square cells of side `step` on the plane, row by row; (left, top) is the corner of the first."""

    left: float
    top: float
    step: float
    columns: int
    rows: int

    def centres(self) -> Values:
        """The centres of all cells, (rows * columns, 2)."""
        x = self.left + self.step * (np.arange(self.columns) + 0.5)
        y = self.top + self.step * (np.arange(self.rows) + 0.5)
        centres: Values = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2).astype(np.float64)
        return centres

    def to_plain(self) -> dict[str, float]:
        """JSON data."""
        return dict(self.__dict__)


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """One distance to the goal over the cells of a grid. Maps that share a scale may be compared by colour."""

    title: str
    unit: str
    values: Values
    """One per cell; NaN where there is nothing to measure."""
    low: float
    high: float
    """The ends of the colour scale."""
    rank_correlation: float | None = None
    """Spearman's, with the true path length; None for the path length itself."""

    def to_plain(self) -> dict[str, Any]:
        """JSON data; the cells as bytes 0 to 254 from one end of the scale to the other."""
        span = max(self.high - self.low, 1e-12)
        share = np.clip((self.values - self.low) / span, 0, 1)
        codes = np.where(np.isnan(share), EMPTY, np.round(254 * np.nan_to_num(share))).astype(np.uint8)
        return {
            "title": self.title,
            "unit": self.unit,
            "low": round(self.low, 3),
            "high": round(self.high, 3),
            "rank_correlation": None if self.rank_correlation is None else round(self.rank_correlation, 3),
            "cells": base64.b64encode(codes.tobytes()).decode(),
        }


def latent_distance(latents: NDArray[np.float32], goal: NDArray[np.float32]) -> Values:
    """Euclidean distance of rows (n, d) to a goal (d,) over sqrt(2 d), as in Appendix G.

    Two independent standard normals are 1 apart: Eq. (11) without correlation.
    """
    gap = latents.astype(np.float64) - goal.astype(np.float64)
    return np.sqrt((gap**2).sum(axis=1) / (2 * latents.shape[1]))


def goal_maps(path_px: Values, low: Values, high: Values) -> tuple[HeatMap, HeatMap, HeatMap]:
    """The three maps of one goal. NaN in the path marks the cells left out; both latent maps share one scale."""
    there = ~np.isnan(path_px)
    top = float(max(low[there].max(), high[there].max()))

    def latent(title: str, distance: Values) -> HeatMap:
        return HeatMap(
            title=title,
            unit="latent distance over √(2D)",
            values=np.where(there, distance, np.nan),
            low=0.0,
            high=top,
            rank_correlation=rank_correlation(distance[there], path_px[there]),
        )

    return (
        HeatMap(title="True path length", unit="px", values=path_px, low=0.0, high=float(path_px[there].max())),
        latent("Low-level latent distance", low),
        latent("High-level latent distance", high),
    )


def rank_correlation(a: Values, b: Values) -> float | None:
    """Spearman's rank correlation, as in Appendix G; equal values share their mean rank.

    None where one side never changes.
    """
    x, y = _ranks(a), _ranks(b)
    x, y = x - x.mean(), y - y.mean()
    norm = sqrt(float((x**2).sum()) * float((y**2).sum()))
    return float((x * y).sum()) / norm if norm else None


def _ranks(values: Values) -> Values:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[group].astype(np.float64)
