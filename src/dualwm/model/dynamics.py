"""P_L and P_H: recursive dynamics over latent vectors, Eq. (2) and Eq. (4); and what every dynamics model offers."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import nn

from dualwm.nets.heads import Projector
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.shapes import Float, Tensor
from dualwm.states import State


class Dynamics(Protocol):
    """What losses and planners ask of a dynamics model: recursive, prefix-parallel and variable-length ones alike."""

    @property
    def history(self) -> int:
        """Observed states it makes use of, at most."""
        ...

    @property
    def span(self) -> int:
        """Steps one call predicts without reading a prediction; longer rollouts chain such calls. 1 is recursive."""
        ...

    def rollout(self, context: State, actions: Float[Tensor, "b l a"]) -> State:
        """Eq. (4): t observed states, the t - 1 actions between them and n future ones -> n predicted states (b, n)."""
        ...


def chained(
    jump: Callable[[State, Tensor], State],
    context: State,
    actions: Float[Tensor, "b l a"],
    *,
    history: int,
    span: int,
    truncate: bool = False,
) -> State:
    """Eq. (4) by jumps of at most `span` steps, each from the last `history` states, observed or predicted.

    With span 1 this is the recursive rollout. `truncate` cuts the gradient where a prediction is fed back.
    """
    known, predicted = context, list[State]()
    t, steps = context.batch_shape[1], actions.shape[1] - context.batch_shape[1] + 1
    for done in range(0, steps, span):
        end, ahead = t + done, min(span, steps - done)
        begin = max(0, end - history)
        predicted.append(jump(known[:, begin:], actions[:, begin : end - 1 + ahead]))
        newest = predicted[-1].map(torch.detach) if truncate else predicted[-1]
        known = State.join([known, newest], lambda parts: torch.cat(parts, 1))
    return State.join(predicted, lambda parts: torch.cat(parts, 1))


class Predictor(nn.Module):
    """A causal AdaLN-zero transformer over at most `history` states; output i predicts the state after input i.

    Each position is conditioned by the embedding of the action taken from it. With `head_hidden` the outputs pass a
    projector with BatchNorm (the low level); without, the final LayerNorm is the output (the high level).
    """

    def __init__(self, width: int, size: TransformerSize, *, history: int, head_hidden: int | None) -> None:
        super().__init__()
        self.history = history
        self.core = Transformer(width, size, positions=history, causal=True, conditioned=True)
        self.head = None if head_hidden is None else Projector(width, head_hidden, width)

    def forward(self, z: Float[Tensor, "b t d"], c: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        """Eq. (2), for every position of the context at once."""
        out = self.core(z, c)
        return out if self.head is None else self.head(out)

    def rollout(self, z: Float[Tensor, "b t d"], c: Float[Tensor, "b l d"], steps: int) -> Float[Tensor, "b n d"]:
        """Eq. (4): `steps` recursive predictions from t observed states.

        c embeds the t - 1 actions between the observed states, then at least `steps` future ones. The context grows
        up to `history` states, then slides.
        """
        states: list[Tensor] = [z[:, i] for i in range(z.shape[1])]
        for step in range(steps):
            end = z.shape[1] + step
            begin = max(0, end - self.history)
            states.append(self(torch.stack(states[begin:end], 1), c[:, begin:end])[:, -1])
        return torch.stack(states[z.shape[1] :], 1)

    def supervised(
        self, z: Float[Tensor, "b t d"], c: Float[Tensor, "b l d"], steps: int, *, free: bool, truncate: bool
    ) -> Float[Tensor, "b n p d"]:
        """Eq. (4) with every context position's output kept: (b, n, history, d).

        The context starts as the first `history` encoded states. At each step all its positions predict, then it
        slides by one state: the newest prediction where `free` (its gradient cut where `truncate`), the encoded
        state otherwise.
        """
        context = z[:, : self.history]
        outputs: list[Tensor] = []
        for step in range(steps):
            out = self(context, c[:, step : step + self.history])
            outputs.append(out)
            newest = out[:, -1] if free else z[:, self.history + step]
            context = torch.cat([context[:, 1:], (newest.detach() if truncate else newest)[:, None]], 1)
        return torch.stack(outputs, 1)


def supervised_targets(z: Float[Tensor, "b t d"], steps: int, history: int) -> Float[Tensor, "b n p d"]:
    """The encoded states that `Predictor.supervised` should have predicted: output i of step j is state i + j."""
    return torch.stack([z[:, j : j + history] for j in range(1, steps + 1)], 1)
