"""Floating-point operations of matrix products: two for every multiply-add. Element-wise work counts for nothing.

`executed` counts what a piece of code really does. The formula says what plain work takes; a test holds them together.
Also read by the peers' Python.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def predictor_flops(sizes: Mapping[str, int], tokens: int) -> int:
    """One row of `tokens` states through a predictor with its head: projections, attention, MLP, modulation.

    Per token 2 * (d * 6d + d * 3i + i * d + 2 * d * m) in each layer and 2 * 2 * d * p in the head; per pair of tokens
    2 * 2 * i in each layer, with i all heads' width together, m the hidden width and p the head's.
    """
    d, m, p = sizes["width"], sizes["hidden"], sizes["head_hidden"]
    i = sizes["heads"] * sizes["head_width"]
    layer = tokens * 2 * (6 * d * d + 4 * d * i + 2 * d * m) + tokens * tokens * 2 * 2 * i
    return sizes["depth"] * layer + tokens * 2 * 2 * d * p


def rollout_flops(sizes: Mapping[str, int], steps: int) -> int:
    """One candidate rolled out from one observed state, its context recomputed at every step, its actions embedded."""
    contexts = [min(step + 1, sizes["history"]) for step in range(steps)]
    embed = sizes["block"] * sizes["bottleneck"] + sizes["action_hidden"] * (sizes["bottleneck"] + sizes["width"])
    return sum(predictor_flops(sizes, tokens) for tokens in contexts) + steps * 2 * embed


def executed(work: Callable[[], Any]) -> int:
    """What `work` executes, as torch's own counter sees it."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    # The counter does not know the fused attention of CPUs, nor oneDNN's product.
    unknown: dict[Any, Any] = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _attention_flops}
    if hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        unknown[torch.ops.mkldnn._linear_pointwise] = _product_flops
    with FlopCounterMode(display=False, custom_mapping=unknown) as counter:
        work()
    return int(counter.get_total_flops())


def _attention_flops(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any) -> int:
    """Every query with every key, and every weight with every value; a mask saves nothing here."""
    batch, heads, queries, width = query
    return 2 * batch * heads * queries * key[2] * (width + value[3])


def _product_flops(x: Sequence[int], weight: Sequence[int], *_: Any, **__: Any) -> int:
    return 2 * math.prod(x) * weight[0]


def of_searches(decision: Callable[[int, int], Callable[[], Any]], low: int, high: int) -> int:
    """A decision with searches of `low` and `high` iterations, from three short ones: its FLOPs are linear in both.

    `decision` prepares one with these numbers of iterations; what it returns is counted.
    """
    base = executed(decision(1, 1))
    per_low, per_high = executed(decision(2, 1)) - base, executed(decision(1, 2)) - base
    return base + (low - 1) * per_low + (high - 1) * per_high
