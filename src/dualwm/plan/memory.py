"""What the three-stage controller remembers between decisions: one frozen record, batch first, passed in and out."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.shapes import Bool, Float, Int, Tensor
from dualwm.states import State


def take_rows(value: Any, rows: Tensor) -> Any:
    """Rows of a State, tensor or array; anything else (shared by all tasks) is returned as it is."""
    if isinstance(value, State):
        return value[rows]
    if isinstance(value, torch.Tensor):
        return value[rows.to(value.device)]
    if isinstance(value, np.ndarray):
        return cast(NDArray[Any], value)[rows.cpu().numpy()]
    return value


def put_rows(whole: Any, rows: Tensor, part: Any) -> Any:
    """A copy of `whole` with `rows` replaced by `part`."""
    if isinstance(whole, State):
        assert isinstance(part, State)
        pairs = [(whole.latent, part.latent), (whole.tokens, part.tokens), (whole.proprio, part.proprio)]
        latent, tokens, proprio = (None if w is None or p is None else _put(w, rows, p) for w, p in pairs)
        assert latent is not None
        return replace(whole, latent=latent, tokens=tokens, proprio=proprio)
    if isinstance(whole, torch.Tensor):
        return _put(whole, rows, part)
    if isinstance(whole, np.ndarray):
        copy = cast(NDArray[Any], whole).copy()
        copy[rows.cpu().numpy()] = part
        return copy
    return whole


def _put(whole: Tensor, rows: Tensor, part: Tensor) -> Tensor:
    copy = whole.clone()
    copy[rows.to(whole.device)] = part.to(whole.dtype)
    return copy


@dataclass(frozen=True)
class Memory:
    """Everything a task carries from one decision to the next."""

    seed: int
    tasks: NDArray[np.int64]
    decision: NDArray[np.int64]
    goal_L: State
    goal_H: State
    history: State
    """(b, n) most recent encoded frames, oldest first, as many as E_H or P_L looks at; rows before `seen` repeat the
    oldest."""
    blocks: Float[Tensor, "b n a"]
    """Normalised action blocks; entry i led from history frame i - 1 to frame i."""
    seen: Int[Tensor, " b"]
    """Frames observed so far."""
    guided: Int[Tensor, " b"]
    """Guided decisions taken."""
    routes: Int[Tensor, " b"]
    """Routes planned."""
    progress: Int[Tensor, " b"]
    """p, decisions since the current subgoal was set."""
    converging: Bool[Tensor, " b"]
    """Guidance has ended for good."""
    subgoal: State
    route: State
    """(b, m) predicted high states along the current route."""
    macros: Float[Tensor, "b m u"]
    """Macro-actions of the current route, for warm starts."""
    plan: Float[Tensor, "b h a"]
    """The last low-level plan shifted by what was executed; NaN marks missing blocks."""
    objective: Int[Tensor, " b"]
    """What that plan was searched for: the route's number, or -1 for the goal, or -2 for nothing yet."""
    reuse: Int[Tensor, " b"]
    """Decisions the cached converging plan may still serve."""

    def take(self, rows: Tensor | NDArray[Any]) -> Self:
        """The memory of some of its tasks (indices or a boolean mask)."""
        index = torch.as_tensor(rows)
        if index.dtype == torch.bool:
            index = index.nonzero()[:, 0]
        return type(self)(**{f.name: take_rows(getattr(self, f.name), index) for f in fields(self)})

    def put(self, rows: Tensor, part: "Memory") -> Self:
        """A copy with the memory of `rows` replaced."""
        return type(self)(
            **{f.name: put_rows(getattr(self, f.name), rows, getattr(part, f.name)) for f in fields(self)}
        )
