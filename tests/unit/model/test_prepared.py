"""The planning form of a model against its training form: the same numbers to rounding, for every length of context."""

from dataclasses import replace

import pytest
import torch
import zoo_toy

from dualwm.model.dual import DualWM
from dualwm.model.prepared import Prepared, prepared
from dualwm.model.window_encoder import IdentityWindow, TransformerWindow
from dualwm.nets.transformer import TransformerSize

ROUNDING = 1e-5
"""Relative to the largest number: in float32 the two forms are equal to it, not bit by bit."""
SIZE = TransformerSize(depth=3, heads=2, head_width=40, hidden=96)
"""Layers below the last, and weights on both sides of the size from which products change their library."""
ROWS, STEPS = 9, 7


def both(history: int = 3, precision: torch.dtype = torch.float32) -> tuple[DualWM, Prepared]:
    method = zoo_toy.method()
    low = replace(method.model.low, width=48, history=history, predictor=SIZE, head_hidden=96)
    high = replace(method.model.high, width=48, predictor=SIZE, window_encoder=TransformerWindow(size=SIZE))
    model = zoo_toy.stirred(replace(method, model=replace(method.model, low=low, high=high)))
    return model, prepared(model, precision, torch.device("cpu"))


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def gap(found: torch.Tensor, expected: torch.Tensor) -> float:
    assert found.shape == expected.shape
    assert expected.std(0).min() > 1e-3, "rows that hardly differ would be equal anyway"
    return float((found.float() - expected).abs().max() / expected.abs().max())


def low_inputs(model: DualWM, observed: int) -> tuple[torch.Tensor, torch.Tensor]:
    width, block = model.config.low.width, model.config.block_width
    return seeded(ROWS, observed, width), seeded(ROWS, observed - 1 + STEPS, block)


@pytest.mark.parametrize(("history", "observed"), [(1, 1), (3, 1), (3, 2), (3, 3), (3, 5), (20, 2)])
@torch.inference_mode()
def test_low_rollouts_are_those_of_the_training_form(history: int, observed: int):
    """Single states, contexts that grow and then slide, that slide from the first, are too long, never slide."""
    model, fast = both(history)
    z, a = low_inputs(model, observed)
    assert gap(fast.low(z, a), model.low.rollout(z, a)) < ROUNDING


@torch.inference_mode()
def test_high_rollouts_and_lifted_windows_are_those_of_the_training_form():
    model, fast = both()
    z, u = seeded(ROWS, model.config.high.width), seeded(ROWS, STEPS, 3)
    assert gap(fast.high(z, u), model.high.rollout(z, u)) < ROUNDING
    for k in (1, 2, 4):
        window = seeded(ROWS, k, model.config.low.width)
        assert gap(fast.lift(window), model.lift(window)) < ROUNDING


@torch.inference_mode()
def test_a_window_encoder_of_another_kind_is_called_as_it_is():
    model, _ = both()
    model.high.E_H = IdentityWindow().build(48, 48, 2)
    window = seeded(ROWS, 2, 48)
    assert torch.equal(prepared(model, torch.float32, torch.device("cpu")).lift(window), window[:, -1])


@torch.inference_mode()
def test_bfloat16_is_the_same_to_its_own_rounding():
    model, fast = both(precision=torch.bfloat16)
    z, a = low_inputs(model, 2)
    assert gap(fast.low(z.bfloat16(), a.bfloat16()), model.low.rollout(z, a)) < 0.05


@torch.inference_mode()
def test_training_may_go_on_with_the_model():
    model, fast = both()
    z, a = low_inputs(model, 2)
    before = fast.low(z, a)
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.add_(1)
    assert torch.equal(fast.low(z, a), before)
