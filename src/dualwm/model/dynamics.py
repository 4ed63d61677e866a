"""P_L and P_H: recursive dynamics over latent vectors, Eq. (2) and Eq. (4)."""

import torch
from torch import nn

from dualwm.nets.heads import Projector
from dualwm.nets.transformer import Transformer, TransformerSize
from dualwm.shapes import Float, Tensor


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
