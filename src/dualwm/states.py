"""What an encoder returns and a dynamics model predicts: one or many latent states, and the distance between them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch

from dualwm.shapes import Float, Tensor


@dataclass(frozen=True)
class State:
    """A stack of latent states: any leading axes, then each part's own axes.

    latent:  (*batch, d), the vector a frame is summarised by.
    tokens:  (*batch, p, d) or None, a patch grid; where there is one, it carries the distance instead of `latent`.
    proprio: (*batch, q) or None, measured body coordinates, already normalised.
    """

    latent: Tensor
    tokens: Tensor | None = None
    proprio: Tensor | None = None
    proprio_weight: float = 1.0
    norm: int = 2

    @property
    def batch_shape(self) -> torch.Size:
        """The leading axes, without the parts' own."""
        return self.latent.shape[:-1]

    @property
    def body(self) -> Tensor:
        """What carries the distance: the patch grid where there is one, else the vector."""
        return self.latent if self.tokens is None else self.tokens

    def distance(self, goal: "State") -> Float[Tensor, "..."]:
        """Squared Euclidean distance (or L1, `norm=1`) summed over a state's own axes; batch axes broadcast."""
        if self.tokens is not None and goal.tokens is not None:
            total = self._power(self.tokens - goal.tokens).sum((-2, -1))
        else:
            total = self._power(self.latent - goal.latent).sum(-1)
        if self.proprio is not None and goal.proprio is not None:
            total = total + self.proprio_weight * self._power(self.proprio - goal.proprio).sum(-1)
        return total

    def _power(self, difference: Tensor) -> Tensor:
        return difference.abs() if self.norm == 1 else difference.square()

    def map(self, fn: Callable[[Tensor], Tensor]) -> "State":
        """Apply `fn` to every part. `fn` must act on leading axes only."""
        return replace(
            self,
            latent=fn(self.latent),
            tokens=None if self.tokens is None else fn(self.tokens),
            proprio=None if self.proprio is None else fn(self.proprio),
        )

    def __getitem__(self, index: object) -> "State":
        return self.map(lambda x: x[index])  # pyright: ignore[reportArgumentType]

    @staticmethod
    def join(states: Sequence["State"], join: Callable[[list[Tensor]], Tensor]) -> "State":
        """Concatenate or stack like-shaped states part by part: `State.join(list, lambda x: torch.cat(x, 1))`."""
        first = states[0]
        tokens = [s.tokens for s in states if s.tokens is not None]
        proprio = [s.proprio for s in states if s.proprio is not None]
        return replace(
            first,
            latent=join([s.latent for s in states]),
            tokens=join(tokens) if tokens else None,
            proprio=join(proprio) if proprio else None,
        )
