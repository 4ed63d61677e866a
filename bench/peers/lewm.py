"""The published LeWM modules at sizes of ours, holding weights of ours."""

from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from bench.peers.swm import lewm_modules, swm


def dynamics(sizes: Mapping[str, int], dropout: float = 0.0) -> dict[str, nn.Module]:
    """Predictor, action encoder and prediction head at these sizes."""
    width = sizes["width"]
    return {
        "predictor": lewm_modules.Predictor(
            num_frames=sizes["history"],
            depth=sizes["depth"],
            heads=sizes["heads"],
            dim_head=sizes["head_width"],
            mlp_dim=sizes["hidden"],
            input_dim=width,
            hidden_dim=width,
            dropout=dropout,
        ),
        "action_encoder": lewm_modules.Embedder(
            input_dim=sizes["block"],
            smoothed_dim=sizes["bottleneck"],
            emb_dim=width,
            mlp_scale=sizes["action_hidden"] // width,
        ),
        "pred_proj": lewm_modules.MLP(width, sizes["head_hidden"], width, norm_fn=nn.BatchNorm1d),
    }


def planning_model(sizes: Mapping[str, int], weights: str) -> Any:
    """A LeWM without an image encoder, for plans between latents, with the weights in that file."""
    model = swm.wm.LeWM(encoder=nn.Identity(), **dynamics(sizes))
    ours = load_file(weights)
    theirs = model.state_dict()
    named = {theirs_name(name): tensor for name, tensor in ours.items()}
    counters = {name for name in theirs if name.endswith("num_batches_tracked")}
    assert named.keys() == theirs.keys() - counters, sorted(named.keys() ^ (theirs.keys() - counters))
    shaped = {name: tensor.reshape(theirs[name].shape) for name, tensor in named.items()}
    model.load_state_dict({**shaped, **{name: theirs[name] for name in counters}})
    return model.eval().requires_grad_(False)


def trained_model(sizes: Mapping[str, int], dropout: float, projector_hidden: int, encoder: Mapping[str, Any]) -> Any:
    """A whole LeWM at random weights: its own kind of ViT, or the convolutions that our laptop recipe uses."""
    if encoder["kind"] == "vit":
        from transformers import ViTConfig, ViTModel

        width = encoder["vit_width"]
        config = ViTConfig(
            hidden_size=width,
            num_hidden_layers=encoder["vit_depth"],
            num_attention_heads=encoder["vit_heads"],
            intermediate_size=4 * width,
            image_size=encoder["image"],
            patch_size=encoder["patch"],
        )
        backbone = ViTModel(config, add_pooling_layer=False, use_mask_token=False)
    else:
        backbone, width = Convolutions(), Convolutions.width
    projector = lewm_modules.MLP(width, projector_hidden, sizes["width"], norm_fn=nn.BatchNorm1d)
    return swm.wm.LeWM(encoder=backbone, projector=projector, **dynamics(sizes, dropout))


class Convolutions(nn.Module):
    """A 4x4 patchify stem and three 3x3 stride-2 convolutions over 64-px frames, answering as a ViT would."""

    width = 512

    def __init__(self) -> None:
        super().__init__()
        channels = (32, 64, 128, 128)
        layers: list[nn.Module] = [nn.Conv2d(3, channels[0], 4, 4), nn.GELU()]
        for i, o in pairwise(channels):
            layers += [nn.Conv2d(i, o, 3, 2, 1), nn.GELU()]
        self.layers = nn.Sequential(*layers, nn.Flatten())

    def forward(self, pixels: torch.Tensor, interpolate_pos_encoding: bool = True) -> Any:
        """Features as the first of one token."""
        return SimpleNamespace(last_hidden_state=self.layers(pixels)[:, None])


_RENAMED = (
    ("low.P_L.core.positions", "predictor.pos_embedding"),
    ("low.P_L.core.blocks.", "predictor.transformer.layers."),
    ("low.P_L.core.norm.", "predictor.transformer.norm."),
    ("low.P_L.head.up.", "pred_proj.net.0."),
    ("low.P_L.head.norm.", "pred_proj.net.1."),
    ("low.P_L.head.down.", "pred_proj.net.3."),
    ("low.embed_action.mix.", "action_encoder.patch_embed."),
    ("low.embed_action.up.", "action_encoder.embed.0."),
    ("low.embed_action.down.", "action_encoder.embed.2."),
    (".attention.qkv.", ".attn.to_qkv."),
    (".attention.out.", ".attn.to_out.0."),
    (".attention.norm.", ".attn.norm."),
    (".mlp.norm.", ".mlp.net.0."),
    (".mlp.up.", ".mlp.net.1."),
    (".mlp.down.", ".mlp.net.4."),
    (".modulation.", ".adaLN_modulation.1."),
)


def theirs_name(name: str) -> str:
    """What a weight of ours is called there."""
    for ours, theirs in _RENAMED:
        name = name.replace(ours, theirs)
    return name


def autocast(precision: str) -> torch.autocast:
    """The peer's best precision is autocast: its action encoder insists on float32 inputs."""
    return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")
