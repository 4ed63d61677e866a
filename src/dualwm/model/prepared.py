"""Dynamics and E_H arranged for planning: the functions of their modules, with weights that no longer change.

What the training form computes again and again, or for nobody, is left out; rounding aside the numbers are the same:

- An action's modulation vectors are computed once, not once per context the action appears in.
- While a context grows, keys and values of its earlier states are kept. Once it slides they cannot be: positions are
  absolute.
- In the last layer only the newest state asks, and only its output passes the head.
- A state that sees itself alone attends to its own value: two products become one matrix.
- BatchNorm's running statistics, the logits' scale and the action embedding's first mix are folded into their
  neighbours.

Tokens come first here, (t, rows, d), so that one token's rows lie together.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import torch
from torch import nn

from dualwm.model.dual import DualWM, High, Low
from dualwm.model.dynamics import Predictor
from dualwm.model.window_encoder import WindowEncoder
from dualwm.nets.heads import BlockEmbedding, Projector
from dualwm.nets.products import Activation, Product
from dualwm.nets.transformer import PLAIN_EPS, Block, Transformer
from dualwm.shapes import Float, Tensor

_Vectors = Sequence[Tensor]
"""Six of one action and block: shift, scale + 1 and gate of the attention, then of the MLP."""
_Modulation = Sequence[_Vectors]
"""Of one action, block by block."""
_KeysValues = tuple[Tensor, Tensor]
"""Of the states so far, (t, rows, heads, width of one head) each."""


@dataclass(frozen=True)
class Prepared:
    """What a planner calls of a model."""

    low: Callable[[Tensor, Tensor], Tensor]
    """`Low.rollout`: states (b, t, d) and blocks (b, t - 1 + n, a) -> predictions (b, n, d)."""
    high: Callable[[Tensor, Tensor], Tensor]
    """`High.rollout`: states (b, e) and macro-actions (b, m, u) -> predictions (b, m, e)."""
    lift: Callable[[Tensor], Tensor]
    """E_H: windows (b, k, d) -> (b, e)."""


def prepared(model: DualWM, dtype: torch.dtype, device: torch.device) -> Prepared:
    """The model's functions as they are in evaluation; what happens to the model afterwards does not reach them."""
    return Prepared(
        prepared_low(model.low, dtype, device),
        _high(model.high, _Maker(dtype, device)),
        _lift(model.high.E_H, _Maker(dtype, device)),
    )


def prepared_low(low: Low, dtype: torch.dtype, device: torch.device) -> Callable[[Tensor, Tensor], Tensor]:
    """`Low.rollout`, Phi_L of section 3.4."""
    make = _Maker(dtype, device)
    return _Rollout(low.P_L, _embedding(low.embed_action, make), make)


def _high(high: High, make: "_Maker") -> Callable[[Tensor, Tensor], Tensor]:
    """`High.rollout`, Phi_H of section 3.4."""
    dynamics = _Rollout(high.P_H, make.linear(high.E_A.lift, "silu"), make)
    return lambda z, u: dynamics(z[:, None], u)


def _lift(encoder: nn.Module, make: "_Maker") -> Callable[[Tensor], Tensor]:
    """E_H of Eq. (1), read out at its last token; an E_H of another kind as it is."""
    if not isinstance(encoder, WindowEncoder):
        return copy.deepcopy(encoder).eval().requires_grad_(False).to(make.device, make.dtype)
    core, norm, out = _Core(encoder.core, make, causal=False), make.norm(encoder.norm), make.linear(encoder.out)

    def lift(window: Float[Tensor, "b k d"]) -> Float[Tensor, "b e"]:
        newest, _ = core.newest(core.placed(window.unbind(1), 0), (), None, keep=False)
        return out(norm(newest))

    return lift


_TOGETHER = 512
"""Rows of one product of modulation vectors, about."""


class _Maker:
    """Arranges weights in one precision, at one place. Foldings are computed in float64."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self.dtype, self.device = dtype, device

    def product(self, weight: Tensor, bias: Tensor | None, activation: Activation = "none") -> Product:
        return Product(weight, bias, activation, dtype=self.dtype, device=self.device)

    def linear(self, linear: nn.Linear, activation: Activation = "none") -> Product:
        return self.product(linear.weight, linear.bias, activation)

    def tensor(self, x: Tensor) -> Tensor:
        return x.detach().to(self.device, self.dtype, copy=True)

    def norm(self, norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
        return self.normalising(norm.weight, norm.bias, norm.eps)

    def norm_of_normed(self, norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
        """`norm` of a plain norm, which is one norm: the plain one's epsilon reappears, scaled."""
        shrunk = _wide(norm.weight) * (1 + norm.eps) ** -0.5
        return self.normalising(shrunk, norm.bias, PLAIN_EPS * norm.eps / (1 + norm.eps))

    def normalising(self, weight: Tensor, bias: Tensor, eps: float) -> Callable[[Tensor], Tensor]:
        shape, weight, bias = weight.shape, self.tensor(weight), self.tensor(bias)
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps, False)


def _wide(x: Tensor) -> Tensor:
    return x.detach().double()


def _embedding(embed: BlockEmbedding, make: _Maker) -> Callable[[Tensor], Tensor]:
    """SiLU of the action embedding: nothing reads a condition but through its SiLU."""
    up, mix = _wide(embed.up.weight), _wide(embed.mix.weight)
    first = make.product(up @ mix, up @ _wide(embed.mix.bias) + _wide(embed.up.bias), "silu")
    second = make.linear(embed.down, "silu")
    return lambda blocks: second(first(blocks))


def _projector(head: Projector, make: _Maker) -> Callable[[Tensor], Tensor]:
    """A projector whose BatchNorm is part of its first product."""
    norm = head.norm
    scale = _wide(norm.weight) * torch.rsqrt(_wide(norm.running_var) + norm.eps)
    bias = (_wide(head.up.bias) - _wide(norm.running_mean)) * scale + _wide(norm.bias)
    up, down = make.product(_wide(head.up.weight) * scale[:, None], bias, "gelu"), make.linear(head.down)
    return lambda x: down(up(x))


class _Rollout:
    """`Predictor.rollout` along actions that `embed` turns into SiLUs of conditions."""

    def __init__(self, predictor: Predictor, embed: Callable[[Tensor], Tensor], make: _Maker) -> None:
        self._history, self._embed = predictor.history, embed
        self._core = _Core(predictor.core, make, causal=True)
        self._head = None if predictor.head is None else _projector(predictor.head, make)

    def __call__(self, z: Float[Tensor, "b t d"], actions: Float[Tensor, "b l a"]) -> Float[Tensor, "b n d"]:
        """Eq. (4) from t observed states, along t - 1 past and n future actions."""
        observed, states = z.shape[1], list(z.unbind(1))
        coming, modulations = self._modulations(actions), list[_Modulation]()
        memory: list[_KeysValues] | None = None
        for end in range(observed, actions.shape[1] + 1):
            modulations += islice(coming, end - len(modulations))
            begin = max(0, end - self._history)
            modulations[:begin] = [()] * begin  # large, and never asked for again
            keep = begin == 0 and end < self._history
            first = begin if memory is None else end - 1
            tokens = self._core.placed(states[first:end], first - begin)
            newest, memory = self._core.newest(tokens, modulations[first:end], memory, keep=keep)
            states.append(newest if self._head is None else self._head(newest))
        return torch.stack(states[observed:], 1)

    def _modulations(self, actions: Tensor) -> Iterator[_Modulation]:
        """Of one action after the other; as many at once as fill a product, and no more: they are large."""
        at_once = max(1, _TOGETHER // len(actions))
        for begin in range(0, actions.shape[1], at_once):
            some = actions[:, begin : begin + at_once].transpose(0, 1).contiguous()
            yield from self._core.modulations(self._embed(some))


class _Core:
    """A transformer of which only the newest token's output is wanted. A lone token is (rows, d), more (t, rows, d)."""

    def __init__(self, core: Transformer, make: _Maker, *, causal: bool) -> None:
        self._positions = make.tensor(core.positions)[:, None]
        blocks = [block for block in core.blocks if isinstance(block, Block)]
        self._blocks = [_Block(block, make, causal) for block in blocks]
        self._norm = make.norm(core.norm)

    def placed(self, tokens: Sequence[Tensor], position: int) -> Tensor:
        """Tokens with the positions from `position` on."""
        if len(tokens) == 1:
            return tokens[0] + self._positions[position]
        return torch.stack(list(tokens)) + self._positions[position : position + len(tokens)]

    def modulations(self, c: Float[Tensor, "n b d"]) -> Iterable[_Modulation]:
        """Of n actions, from the SiLUs of their conditions."""
        products = [block.modulation(c) for block in self._blocks if block.modulation is not None]
        return zip(*([x.chunk(6, -1) for x in product.unbind(0)] for product in products), strict=True)

    def newest(
        self, x: Tensor, modulations: Sequence[_Modulation], memory: list[_KeysValues] | None, *, keep: bool
    ) -> tuple[Float[Tensor, "b d"], list[_KeysValues] | None]:
        """The newest token's output; keys and values of all tokens so far where they are to be kept. Uses up `x`."""
        kept: list[_KeysValues] = []
        for i, block in enumerate(self._blocks):
            of_tokens = [modulation[i] for modulation in modulations]
            before = None if memory is None else memory[i]
            x, known = block(x, of_tokens, before, newest=i == len(self._blocks) - 1, keep=keep)
            if known is not None:
                kept.append(known)
        return self._norm(x), kept if keep else None


class _Block:
    """One residual block over the tokens that came since `before`, or since the beginning."""

    def __init__(self, block: Block, make: _Maker, causal: bool) -> None:
        attention, mlp = block.attention, block.mlp
        q, k, v = _wide(attention.qkv.weight).chunk(3)
        self._heads, self._causal = attention.heads, causal
        self._q = make.product(q * (attention.inner // attention.heads) ** -0.5, None)
        self._kv = make.product(torch.cat([k, v]), None)
        self._out = make.linear(attention.out)
        self._alone = make.product(_wide(attention.out.weight) @ v, attention.out.bias)
        self._up, self._down = make.linear(mlp.up, "gelu"), make.linear(mlp.down)
        self.modulation, self._plain = None, None
        if block.modulation is None:
            self._norms = make.norm_of_normed(attention.norm), make.norm_of_normed(mlp.norm)
            return
        bias = _wide(block.modulation.bias).clone().view(6, -1)
        bias[[1, 4]] += 1
        self.modulation = make.product(block.modulation.weight, bias.flatten())
        # Ones and zeros change nothing and take a faster kernel.
        self._plain = make.normalising(torch.ones_like(bias[0]), torch.zeros_like(bias[0]), PLAIN_EPS)
        self._norms = make.norm(attention.norm), make.norm(mlp.norm)

    def __call__(
        self, x: Tensor, m: Sequence[_Vectors], before: _KeysValues | None, *, newest: bool, keep: bool
    ) -> tuple[Tensor, _KeysValues | None]:
        """All tokens' outputs or the newest one's alone; and keys and values, where there was a use for them."""
        h, known = self._normalised(x, m, 0), None
        if x.ndim == 2 and before is None and not keep:
            attended = self._alone(h)
        else:
            attended, known = self._attended(h if h.ndim == 3 else h[None], before, newest)
            attended = attended[0] if newest or x.ndim == 2 else attended
        if newest and x.ndim == 3:
            x, m = x[-1], m[-1:]
        x = _residual(x, attended, m, 0)
        return _residual(x, self._down(self._up(self._normalised(x, m, 1))), m, 1), known

    def _normalised(self, x: Tensor, m: Sequence[_Vectors], which: int) -> Tensor:
        """What the attention (0) or the MLP (1) reads of the residual stream."""
        if self._plain is None:
            return self._norms[which](x)
        plain = self._plain(x)
        for token, vectors in zip(_tokens(plain), m, strict=True):
            torch.addcmul(vectors[3 * which], token, vectors[3 * which + 1], out=token)
        return self._norms[which](plain)

    def _attended(
        self, h: Float[Tensor, "t b d"], before: _KeysValues | None, newest: bool
    ) -> tuple[Float[Tensor, "n b d"], _KeysValues]:
        """What each token, or the newest alone, gathers from those it may see; and all keys and values."""
        k, v = _heads(self._kv(h), 2 * self._heads).chunk(2, 2)
        if before is not None:
            k, v = torch.cat([before[0], k]), torch.cat([before[1], v])
        begin = len(h) - 1 if newest else 0
        parts: list[Tensor] = []
        if begin == 0 and before is None and self._causal:
            parts.append(self._alone(h[:1]))
            begin = 1
        if begin < len(h):
            parts.append(self._out(self._gathered(self._q(h[begin:]), k, v)))
        return parts[0] if len(parts) == 1 else torch.cat(parts), (k, v)

    def _gathered(self, q: Float[Tensor, "n b i"], k: Tensor, v: Tensor) -> Float[Tensor, "n b i"]:
        """Softmax attention of the last n tokens. So few are written out: kernels for many take three times longer."""
        gathered: list[Tensor] = []
        for i, query in enumerate(_heads(q, self._heads)):
            sees = len(k) - len(q) + 1 + i if self._causal else len(k)
            weights = (query * k[:sees]).sum(-1).softmax(0)
            gathered.append((weights[..., None] * v[:sees]).sum(0))
        return torch.stack(gathered).flatten(-2)


def _heads(x: Tensor, count: int) -> Tensor:
    """The last axis cut into heads."""
    return x.view(*x.shape[:-1], count, -1)


def _tokens(x: Tensor) -> Sequence[Tensor]:
    """Token by token."""
    return x.unbind(0) if x.ndim == 3 else (x,)


def _residual(x: Tensor, change: Tensor, m: Sequence[_Vectors], which: int) -> Tensor:
    """The residual stream after the attention (0) or the MLP (1), in its own place."""
    if not m:
        return x.add_(change)
    for token, its_change, vectors in zip(_tokens(x), _tokens(change), m, strict=True):
        token.addcmul_(vectors[3 * which + 2], its_change)
    return x
