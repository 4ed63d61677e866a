"""Small heads: the projector with BatchNorm and the embedding of an action block."""

from torch import nn
from torch.nn import functional as F

from dualwm.nets.batchnorm import BatchNorm
from dualwm.shapes import Float, Tensor


class Projector(nn.Module):
    """Linear, BatchNorm, GELU, Linear on the last axis; all other axes are rows of the BatchNorm's batch."""

    def __init__(self, width_in: int, hidden: int, width_out: int) -> None:
        super().__init__()
        self.up = nn.Linear(width_in, hidden)
        self.norm = BatchNorm(hidden)
        self.down = nn.Linear(hidden, width_out)

    def forward(self, x: Float[Tensor, "*rows i"]) -> Float[Tensor, "*rows o"]:
        """The head, row by row but for the statistics of its BatchNorm."""
        rows = x.flatten(0, -2)
        return self.down(F.gelu(self.norm(self.up(rows)))).unflatten(0, x.shape[:-1])


class BlockEmbedding(nn.Module):
    """Embed one action block: a narrow linear mix, then a two-layer SiLU MLP."""

    def __init__(self, block_width: int, bottleneck: int, hidden: int, width: int) -> None:
        super().__init__()
        self.mix = nn.Linear(block_width, bottleneck)
        self.up = nn.Linear(bottleneck, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x: Float[Tensor, "*rows a"]) -> Float[Tensor, "*rows d"]:
        """The embedding, block by block."""
        return self.down(F.silu(self.up(self.mix(x))))
