"""Image backbones: normalisation, shapes, how far pixels reach."""

import pytest
import torch

from dualwm.nets.images import ConvNet, PatchStem, ViT


def frames(*size: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 256, (2, *size, 3), generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def test_the_stem_is_a_convolution_of_frames_normalised_with_the_moments_of_imagenet():
    torch.manual_seed(0)
    stem, x = PatchStem(5, 4), frames(8, 12)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    normal = ((x / 255 - mean) / std).permute(0, 3, 1, 2)
    expected = torch.nn.functional.conv2d(normal, stem.weight, stem.bias, 4)
    torch.testing.assert_close(stem(x), expected, rtol=1e-4, atol=1e-5)
    assert set(stem.state_dict()) == {"weight", "bias"}, "the moments are no weights to be stored"


def test_half_precision_still_tells_neighbouring_grey_levels_apart():
    torch.manual_seed(0)
    stem = PatchStem(5, 4).to(torch.bfloat16)
    x = frames(8, 8)
    dimmer = x.clamp_min(1) - 1
    assert (stem(x) != stem(dimmer)).float().mean() > 0.5


@pytest.mark.parametrize(
    ("size", "patch", "channels"), [((64, 64), 4, (8, 8, 8)), ((24, 36), 4, (8, 6)), ((20, 12), 4, (4,))]
)
def test_a_convnet_knows_its_width(size: tuple[int, int], patch: int, channels: tuple[int, ...]):
    net = ConvNet(size, patch, channels)
    assert net(frames(*size)).shape == (2, net.width)


def test_a_vit_returns_one_normalised_token_and_sees_every_patch():
    torch.manual_seed(0)
    net = ViT((28, 42), patch=14, width=24, depth=2, heads=3).eval()
    x = frames(28, 42)
    out = net(x)
    assert out.shape == (2, 24)
    torch.testing.assert_close(out.mean(-1), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.var(-1, correction=0), torch.ones(2), atol=1e-3, rtol=0)
    for y in (0, 14):
        for column in (0, 14, 28):
            touched = x.clone()
            touched[:, y : y + 14, column : column + 14] += 100
            assert not torch.allclose(net(touched), out)
