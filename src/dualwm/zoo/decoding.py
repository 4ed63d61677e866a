"""A small decoder from latents to pictures, for looking only: `dualwm train-decoder`, `dualwm view --decoder`.

It learns from a finished system's latents of real frames, which carry no gradient: nothing that plans ever sees it.
One network per kind of latent a method describes frames with ("low", "high"). Beside its error on held-out episodes
stands the error of what it replaces, showing the nearest frame of the system's bank.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as bytes_of
from torch import nn

from dualwm.data.collections import first_seed
from dualwm.envs.base import episodes, states_of
from dualwm.errors import RecipeError, SystemFolderError
from dualwm.files import write_whole
from dualwm.report.nearest import nearest
from dualwm.shapes import Float, Tensor
from dualwm.zoo.folder import read_tensors
from dualwm.zoo.system import System

_FORMAT = 1
SIDE = 64
"""Of the pictures."""
_MAP = 8
"""Side of the first map of features."""
_TILE = 4
"""Pixels a side that one place of the last map of features becomes: convolutions at full size would be slow."""
_HELD_OUT = 0.1
"""Share of the episodes."""
_ROWS = 512
"""Latents decoded at a time."""
_RARE = 10.0
"""How much more a pixel counts that differs by the whole range from the mean picture: what moves is small."""


@dataclass(frozen=True, kw_only=True)
class DecoderSettings:
    """How it is made and trained."""

    episodes: int = 200
    """Behaviour episodes of the training collection, a tenth of which is held out."""
    steps: int = 2000
    """Gradient steps."""
    batch_size: int = 64
    """Frames a step."""
    channels: int = 32
    """Features at every place of its maps."""
    learning_rate: float = 2e-3
    """Of AdamW, falling to zero along a cosine."""
    seed: int = 0
    """Of weights and batches."""

    def __post_init__(self) -> None:
        if self.episodes < 10 or min(self.steps, self.batch_size, self.channels) < 1 or self.learning_rate <= 0:
            raise RecipeError(
                "A decoder is trained on at least 10 episodes, for at least one step, batch and channel, at a learning "
                f"rate above 0; found {self}."
            )


class Pictures(nn.Module):
    """Latents to pictures in [0, 1]: the mean picture, and what a small map of features changes about it."""

    mean: Tensor
    scale: Tensor
    usual: Tensor

    def __init__(self, width: int, channels: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("scale", torch.ones(width))
        self.register_buffer("usual", torch.zeros(3, SIDE, SIDE))
        self.channels = channels
        self.first = nn.Linear(width, channels * _MAP**2)
        self.blocks = nn.Sequential(
            nn.GELU(),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GELU(),
            nn.Upsample(scale_factor=SIDE // (_MAP * _TILE)),
            nn.Conv2d(channels, channels, 3, padding=1),
            nn.GELU(),
            nn.Conv2d(channels, 3 * _TILE**2, 3, padding=1),
            nn.PixelShuffle(_TILE),
        )

    def forward(self, z: Float[Tensor, "b d"]) -> Float[Tensor, "b 3 y x"]:
        """Pictures (b, 3, SIDE, SIDE), not yet cut off at black and white."""
        first = self.first((z - self.mean) / self.scale)
        return self.usual + self.blocks(first.view(len(z), self.channels, _MAP, _MAP))


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A trained decoder of one system."""

    networks: Mapping[str, Pictures]
    """By the kind of latent."""
    weights_digest: str
    """Of the system whose latents it reads."""

    @torch.inference_mode()
    def draw(self, name: str, latents: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Pictures (n, SIDE, SIDE, 3) of latents (n, d)."""
        if name not in self.networks:
            raise RecipeError(f"This decoder reads the latents {sorted(self.networks)}, not {name!r}.")
        chunks = [torch.from_numpy(latents[first : first + _ROWS]) for first in range(0, len(latents), _ROWS)]
        drawn = torch.cat([self.networks[name](z) for z in chunks])
        return (255 * drawn.clamp(0, 1)).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()

    def save(self, path: Path) -> None:
        """Write it as one file of tensors, whole or not at all."""
        tensors = {f"{name}.{key}": x for name, net in self.networks.items() for key, x in net.state_dict().items()}
        sizes = {name: [net.first.in_features, net.channels] for name, net in self.networks.items()}
        about = {"format": _FORMAT, "networks": sizes, "weights_digest": self.weights_digest}
        write_whole(path, bytes_of(tensors, {"decoder": json.dumps(about)}))

    @staticmethod
    def load(path: Path, weights_digest: str) -> "Decoder":
        """Read it; one that was trained on other latents is refused."""
        tensors = read_tensors(path)
        try:
            with safe_open(path, "pt") as file:  # pyright: ignore[reportUnknownVariableType]
                about = json.loads(file.metadata()["decoder"])  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            sizes: dict[str, tuple[int, int]] = about["networks"]
            networks = {name: _network(name, *size, tensors) for name, size in sizes.items()}
            digest = str(about["weights_digest"])
        except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as problem:
            raise SystemFolderError(
                f"{path} should hold a decoder as `dualwm train-decoder` writes it, and does not ({problem!r}). Train "
                "it again."
            ) from problem
        if digest != weights_digest:
            raise SystemFolderError(
                f"{path} was trained on the latents of the weights {digest[:12]}, and the system at hand has the "
                f"weights {weights_digest[:12]}, whose latents mean something else. Train a decoder of this system."
            )
        return Decoder(networks=networks, weights_digest=digest)


@dataclass(frozen=True, kw_only=True)
class Sharpness:
    """Root mean squared error of held-out pictures, in grey levels of 255."""

    decoder: float
    nearest_frame: float
    """Of the bank's frame of nearest latent, drawn."""


def train_decoder(
    system: System, settings: DecoderSettings, tell: Callable[[str], None] = lambda text: None
) -> tuple[Decoder, dict[str, Sharpness]]:
    """Train on frames of behaviour episodes of the training collection; how sharp it is on the held-out ones."""
    states, heldout = _states(system, settings.episodes)
    frames = system.world.draw(states, SIDE, system.world.cameras[0])
    networks: dict[str, Pictures] = {}
    found: dict[str, Sharpness] = {}
    for name, latents in system.describe_states(states).items():
        networks[name] = net = _fit(
            latents[~heldout], frames[~heldout], settings, lambda text, n=name: tell(f"{n}: {text}")
        )
        drawn = Decoder(networks={name: net}, weights_digest="").draw(name, latents[heldout])
        near = system.bank.states[nearest(latents[heldout], system.bank.latents[name])].astype(np.float64)
        shown = system.world.draw(near, SIDE, system.world.cameras[0])
        found[name] = Sharpness(decoder=_error(drawn, frames[heldout]), nearest_frame=_error(shown, frames[heldout]))
    return Decoder(networks=networks, weights_digest=system.weights_digest), found


def _states(system: System, count: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """States of episodes laid end to end, and which of them are held out: whole episodes, the last ones."""
    first = first_seed("train", 0, count)
    walked = [states_of(system.world.columns, one) for one in episodes(system.world, range(first, first + count), 200)]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    last = count - max(1, round(_HELD_OUT * count))
    heldout = np.concatenate([np.full(len(states), i >= last) for i, states in enumerate(walked)])
    return np.concatenate(walked), heldout


def _fit(
    latents: NDArray[np.float32], frames: NDArray[np.uint8], settings: DecoderSettings, tell: Callable[[str], None]
) -> Pictures:
    with torch.random.fork_rng([]):
        torch.manual_seed(settings.seed)
        net = Pictures(latents.shape[1], settings.channels)
    net.mean.copy_(torch.from_numpy(latents.mean(0)))
    net.scale.copy_(torch.from_numpy(latents.std(0)).clamp_min(1e-3))
    net.usual.copy_(torch.from_numpy(frames.mean(0, dtype=np.float64)).permute(2, 0, 1) / 255)
    optimiser = torch.optim.AdamW(net.parameters(), settings.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, settings.steps)
    for step, rows in enumerate(_batches(len(latents), settings)):
        wanted = torch.from_numpy(frames[rows]).permute(0, 3, 1, 2) / 255
        weight = 1 + _RARE * (wanted - net.usual).abs().mean(1, keepdim=True)
        loss = (weight * (net(torch.from_numpy(latents[rows])) - wanted) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        if (step + 1) % max(1, settings.steps // 10) == 0:
            tell(f"step {step + 1} of {settings.steps}, weighted squared error {loss.item():.5f}")
    return net.eval()


def _batches(rows: int, settings: DecoderSettings) -> Iterator[NDArray[np.int64]]:
    generator = np.random.Generator(np.random.Philox(key=settings.seed))
    for _ in range(settings.steps):
        yield generator.integers(rows, size=settings.batch_size)


def _error(pictures: NDArray[np.uint8], truth: NDArray[np.uint8]) -> float:
    gap = pictures.astype(np.float32) - truth
    return float(np.sqrt((gap**2).mean()))


def _network(name: str, width: int, channels: int, tensors: Mapping[str, Tensor]) -> Pictures:
    net = Pictures(width, channels)
    mine = {key.removeprefix(f"{name}."): x for key, x in tensors.items() if key.startswith(f"{name}.")}
    net.load_state_dict(mine)
    return net.eval()
