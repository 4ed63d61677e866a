"""Products with fixed weights: what a linear layer and its activation give, whichever library multiplies."""

import pytest
import torch
from torch.nn.functional import gelu, linear, silu

from dualwm.nets import products
from dualwm.nets.products import Product

CPU = torch.device("cpu")


def seeded(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("onednn", [False, True], ids=["plain", "as it is here"])
@pytest.mark.parametrize(("activation", "fn"), [("none", lambda y: y), ("gelu", gelu), ("silu", silu)])
@pytest.mark.parametrize("bias", [None, seeded(96)], ids=["no bias", "bias"])
def test_a_product_is_a_linear_layer_and_its_activation(onednn, activation, fn, bias, monkeypatch: pytest.MonkeyPatch):
    if not onednn:
        monkeypatch.setattr(products, "onednn_multiplies", lambda *_: False)
    weight = seeded(96, 64)
    product = Product(weight.double(), bias, activation, dtype=torch.float32, device=CPU)
    with torch.inference_mode():
        for shape in ((9, 64), (2, 5, 64), (1, 64)):
            x = 2 * seeded(*shape)
            expected = fn(linear(x, weight, bias))
            torch.testing.assert_close(product(x), expected, rtol=1e-5, atol=1e-5)


def test_small_weights_give_the_same_as_large_ones():
    x, weight = seeded(7, 16), seeded(16, 16)
    torch.testing.assert_close(Product(weight, None, dtype=torch.float32, device=CPU)(x), x @ weight.T)


def test_a_product_does_not_follow_its_weights():
    weight = seeded(8, 8)
    product, x = Product(weight, None, dtype=torch.float32, device=CPU), seeded(3, 8)
    before = product(x)
    weight.zero_()
    assert torch.equal(product(x), before)
