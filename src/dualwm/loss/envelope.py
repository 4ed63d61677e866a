"""Why the horizon weights decay: recursive error propagation, Eq. (6), and Appendix B's finite-horizon analysis.

Nothing here trains anything. These are the bounds that motivate Eq. (5), as functions a reader can plot.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dualwm.loss.lore import Profile, horizon_weights

Array = NDArray[np.float64]


def error_recursion(lipschitz: float, residual: float, steps: int) -> Array:
    """Eq. (6): the largest errors e_1..e_n allowed by e_{h+1} <= L e_h + eps from e_0 = 0."""
    errors = [0.0]
    for _ in range(steps):
        errors.append(lipschitz * errors[-1] + residual)
    return np.array(errors[1:])


def growth(lipschitz: float, steps: int) -> Array:
    """S_h(L) = sum_{j<h} L^j for h = 1..n in closed form; Eq. (6) and Eq. (15)."""
    h = np.arange(1, steps + 1)
    if math.isclose(lipschitz, 1.0, rel_tol=0, abs_tol=1e-9):
        return h.astype(np.float64)
    return np.asarray((lipschitz**h - 1) / (lipschitz - 1), np.float64)


def residual_bound(lipschitz: float, residuals: Array) -> Array:
    """Eq. (15), left part, under the assumptions of Eq. (14): d_h <= sum_i L^(h-i) r_i for each h."""
    n = len(residuals)
    return np.array([sum(lipschitz ** (h - i) * residuals[i - 1] for i in range(1, h + 1)) for h in range(1, n + 1)])


def assumptions(stepped_hat: Array, stepped: Array, z_hat: Array, z: Array, z_next: Array) -> tuple[float, float]:
    """Eq. (14): the smallest L and eps for which recorded update pairs satisfy both assumptions.

    Rows are steps: F(z_hat), F(z), z_hat, z and the encoded successor z_{h+1}.
    """
    spread = np.linalg.norm(stepped_hat - stepped, axis=-1)
    apart = np.linalg.norm(z_hat - z, axis=-1)
    lipschitz = float(np.max(np.where(apart > 0, spread / np.where(apart > 0, apart, 1), 0)))
    return lipschitz, float(np.linalg.norm(stepped - z_next, axis=-1).max())


def reference_weights(lipschitz: float, steps: int) -> Array:
    """Eq. (16): v_h proportional to S_h(L)^-2, which equalises the weighted squared bounds."""
    raw = growth(lipschitz, steps) ** -2.0
    return raw / raw.sum()


def reference_decay(lipschitz: float, steps: int) -> Array:
    """Eq. (17): -log(v_{h+1} / v_h), which approaches 2 log L where L^h is large."""
    s = growth(lipschitz, steps)
    return 2 * np.log(s[1:] / s[:-1])


def envelope(decay: float, lipschitz: float, residual: float, steps: int) -> float:
    """Eq. (18), left part: U_n(alpha, L), the weighted squared error bound."""
    return float(residual**2 * (_weights(decay, steps) * growth(lipschitz, steps) ** 2).sum())


def envelope_slope(decay: float, lipschitz: float, residual: float, steps: int) -> float:
    """Eq. (18), right part: dU_n/dalpha = -eps^2 Cov_w(h, S_h^2), never positive."""
    w, h, s2 = _weights(decay, steps), np.arange(1, steps + 1), growth(lipschitz, steps) ** 2
    covariance = (w * h * s2).sum() - (w * h).sum() * (w * s2).sum()
    return float(-(residual**2) * covariance)


def terminal_bound(loss: float, profile: Profile, steps: int, decay: float) -> float:
    """Eq. (19): the terminal error is at most L_LoRe / w_n."""
    return loss / float(horizon_weights(profile, steps, decay)[-1])


def _weights(decay: float, steps: int) -> Array:
    raw = np.exp(-decay * (np.arange(1, steps + 1) - 1))
    return raw / raw.sum()
