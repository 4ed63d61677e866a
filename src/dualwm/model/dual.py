"""The dual-latent world model: two state spaces, two dynamics, one macro-action interface (section 3.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from dualwm.errors import RecipeError
from dualwm.model.dynamics import Predictor
from dualwm.model.encoder import Encoder
from dualwm.model.macro import MacroEncoder, VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.heads import BlockEmbedding
from dualwm.nets.transformer import TransformerSize
from dualwm.registry import nested, sub
from dualwm.shapes import Float, Tensor, UInt8


@dataclass(frozen=True, kw_only=True)
class LowConfig:
    """E_L and P_L."""

    encoder: Any = sub("encoder")
    """Image encoder: `vit` or `conv`."""
    width: int = 192
    """d_L."""
    predictor: TransformerSize = nested(TransformerSize, TransformerSize(depth=6, heads=16, hidden=2048, dropout=0.1))
    """Sizes of P_L."""
    history: int = 3
    """States P_L attends to, in low steps."""
    head_hidden: int = 2048
    """Hidden width of the BatchNorm head after P_L."""
    action_bottleneck: int = 10
    """Width of the narrow mix at the start of the action embedding."""
    action_hidden: int = 768
    """Hidden width of the action embedding."""


@dataclass(frozen=True, kw_only=True)
class HighConfig:
    """E_H, P_H and E_A."""

    width: int = 192
    """d_H."""
    window_encoder: Any = sub("window_encoder", TransformerWindow())
    """E_H."""
    macro_encoder: Any = sub("macro_encoder", VariationalMacro())
    """E_A."""
    predictor: TransformerSize = nested(TransformerSize, TransformerSize(depth=6, heads=16, hidden=2048, dropout=0.1))
    """Sizes of P_H."""


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Sizes are data: the same classes make the paper's 34 million parameters and a laptop's two."""

    frame_skip: int
    """f, environment steps per low step."""
    window: int
    """k, low steps per high step."""
    action_dim: int
    """Width of one environment action (one-hot width for discrete actions)."""
    low: LowConfig = nested(LowConfig)
    """The low level."""
    high: HighConfig = nested(HighConfig)
    """The high level."""

    def __post_init__(self) -> None:
        if min(self.frame_skip, self.window, self.action_dim) < 1:
            raise RecipeError(
                f"frame_skip, window and action_dim must be at least 1, got "
                f"{self.frame_skip}, {self.window} and {self.action_dim}."
            )

    @property
    def block_width(self) -> int:
        """Width of one model action: frame_skip environment actions side by side."""
        return self.frame_skip * self.action_dim


class Low(nn.Module):
    """E_L, the action embedding and P_L."""

    def __init__(self, config: LowConfig, block_width: int) -> None:
        super().__init__()
        self.E_L = Encoder(config.encoder, config.width)
        self.embed_action = BlockEmbedding(block_width, config.action_bottleneck, config.action_hidden, config.width)
        self.P_L = Predictor(config.width, config.predictor, history=config.history, head_hidden=config.head_hidden)

    def rollout(self, z: Float[Tensor, "b t d"], a: Float[Tensor, "b l a"]) -> Float[Tensor, "b n d"]:
        """Phi_L of section 3.4: t observed latents, t - 1 blocks between them and n future ones -> n predictions."""
        return self.P_L.rollout(z, self.embed_action(a), a.shape[1] - z.shape[1] + 1)


class High(nn.Module):
    """E_H, P_H and E_A."""

    def __init__(self, config: HighConfig, low_width: int, block_width: int, window: int) -> None:
        super().__init__()
        self.E_H: nn.Module = config.window_encoder.build(low_width, config.width, window)
        self.P_H = Predictor(config.width, config.predictor, history=1, head_hidden=None)
        self.E_A: MacroEncoder = config.macro_encoder.build(block_width, config.width)

    def rollout(self, z: Float[Tensor, "b e"], u: Float[Tensor, "b m u"]) -> Float[Tensor, "b m e"]:
        """Phi_H of section 3.4: one high state and m macro-actions -> m predicted high states."""
        return self.P_H.rollout(z[:, None], self.E_A.lift(u), u.shape[1])


class DualWM(nn.Module):
    """Both levels. `low` is frozen while `high` trains; `high` never sends gradient into `low`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.low = Low(config.low, config.block_width)
        self.high = High(config.high, config.low.width, config.block_width, config.window)

    def encode(
        self,
        frames: Mapping[str, UInt8[Tensor, "b y x 3"]],
        proprio: Mapping[str, Float[Tensor, "b q"]] | None = None,
    ) -> Float[Tensor, "b d"]:
        """E_L, Eq. (1)."""
        return self.low.E_L(frames, proprio)

    def lift(self, window: Float[Tensor, "b k d"]) -> Float[Tensor, "b e"]:
        """E_H, Eq. (1)."""
        return self.high.E_H(window)


def parameters(module: nn.Module) -> int:
    """How many numbers a module learns."""
    return sum(p.numel() for p in module.parameters())
