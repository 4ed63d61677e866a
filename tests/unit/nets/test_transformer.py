"""The one transformer: identity at initialisation, causality, conditions, the shortcut for a single token."""

import pytest
import torch

from dualwm.nets.transformer import Block, Transformer, TransformerSize

SIZE = TransformerSize(depth=2, heads=2, head_width=4, hidden=12)


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def stirred(module: torch.nn.Module) -> torch.nn.Module:
    """No weight left at zero, so that conditions and gates act."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.add_(0.3 * seeded(*p.shape, seed=i))
    return module.eval()


def make(causal: bool, conditioned: bool, positions: int = 3, size: TransformerSize = SIZE) -> Transformer:
    torch.manual_seed(0)
    return Transformer(6, size, positions=positions, causal=causal, conditioned=conditioned)


def test_a_conditioned_block_is_the_identity_at_initialisation():
    block = Block(6, SIZE, causal=True, conditioned=True)
    x, c = seeded(2, 3, 6), seeded(2, 3, 6, seed=1)
    assert torch.equal(block(x, c), x)


def test_a_conditioned_transformer_starts_as_positions_and_a_norm():
    net = make(causal=True, conditioned=True)
    x, c = seeded(4, 3, 6), seeded(4, 3, 6, seed=1)
    torch.testing.assert_close(net(x, c), torch.nn.functional.layer_norm(x + net.positions, (6,)))
    assert torch.equal(net(x, c), net(x, c + 1.0)), "at initialisation no condition is heard"


def test_positions_are_drawn_with_deviation_one():
    assert 0.8 < float(make(True, True, positions=400).positions.detach().std()) < 1.2


def test_a_condition_is_heard_once_weights_have_moved():
    net = stirred(make(causal=True, conditioned=True))
    x, c = seeded(4, 3, 6), seeded(4, 3, 6, seed=1)
    assert not torch.allclose(net(x, c), net(x, -c))


@pytest.mark.parametrize("position", [1, 2])
def test_a_causal_output_ignores_later_tokens_and_conditions(position: int):
    net = stirred(make(causal=True, conditioned=True))
    x, c = seeded(4, 3, 6), seeded(4, 3, 6, seed=1)
    x2, c2 = x.clone(), c.clone()
    x2[:, position:] += 1.0
    c2[:, position:] -= 1.0
    torch.testing.assert_close(net(x, c)[:, :position], net(x2, c2)[:, :position], rtol=0, atol=0)
    assert not torch.allclose(net(x, c)[:, position:], net(x2, c2)[:, position:])


def test_without_causality_every_output_hears_every_token():
    net = stirred(make(causal=False, conditioned=False))
    x = seeded(4, 3, 6)
    for heard in range(3):
        x2 = x.clone()
        x2[:, heard] += seeded(6, seed=7)
        assert (net(x) != net(x2)).any(-1).all()


@pytest.mark.parametrize("length", [1, 2])
def test_a_prefix_gives_the_outputs_of_a_full_call(length: int):
    """A single token takes a shortcut past the softmax: it must give what the softmax gives."""
    net = stirred(make(causal=True, conditioned=True))
    x, c = seeded(4, 3, 6), seeded(4, 3, 6, seed=1)
    torch.testing.assert_close(net(x[:, :length], c[:, :length]), net(x, c)[:, :length])


def test_small_products_equal_the_fused_attention():
    net = stirred(make(causal=True, conditioned=True))
    attention = net.blocks[0].attention
    x = seeded(4, 3, 6)
    q, k, v = (y.unflatten(-1, (2, -1)).transpose(1, 2) for y in attention.qkv(x).chunk(3, -1))
    fused = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    torch.testing.assert_close(attention._in_small_products(q, k, v), fused)


def test_gradient_reaches_every_parameter_once_weights_have_moved():
    net = stirred(make(causal=True, conditioned=True))
    net(seeded(2, 3, 6), seeded(2, 3, 6, seed=1)).square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in net.parameters())
