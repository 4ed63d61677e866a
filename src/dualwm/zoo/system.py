"""A System folder: weights, configuration, planner, task, normaliser, split, provenance. It can act alone.

Loading reads safetensors and JSON and looks names up in the registry. It never unpickles and never executes what it
finds; whatever does not fit is refused in one paragraph that names the file, the expectation and the remedy.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save
from torch import nn

import dualwm.zoo.parts  # noqa: F401  (registers the built-in methods and parts)
from dualwm.data.normalize import Normalizer
from dualwm.envs.base import World, get_world
from dualwm.errors import DataError, RecipeError, SystemFolderError, did_you_mean
from dualwm.evaluate.needs import Controller
from dualwm.evaluate.pool import PairPool
from dualwm.files import write_whole
from dualwm.registry import from_plain, to_plain
from dualwm.zoo.method import Acting, Method

FORMAT = 1
FILES = (
    "model.safetensors",
    "config.json",
    "planner.json",
    "task.json",
    "normalizer.json",
    "split.json",
    "provenance.json",
)


@dataclass(frozen=True)
class Bank:
    """Training frames by their states, with their latents: imagined latents become pictures by nearest neighbour."""

    states: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class System:
    """A trained (or random) system: a method, its weights, and all that acting takes."""

    name: str
    """What outcomes call it: the shipped name or the folder."""
    method: Method
    model: nn.Module
    planner: Mapping[str, Any]
    """`planner.json`: {"format", "offsets": {goal offset: planner settings}}."""
    task: Mapping[str, Any]
    """`task.json`: world, success rule, variant, image size, action space."""
    normalizer: Normalizer
    split: Mapping[str, Any] = field(default_factory=dict[str, Any])
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    folder: Path | None = None

    @cached_property
    def world(self) -> World:
        """The world the system was trained in."""
        return get_world(str(self.task["world"]))

    @property
    def image_size(self) -> int:
        """Side in pixels of the frames the model sees."""
        return int(self.task["image_size"])

    @cached_property
    def weights_digest(self) -> str:
        """SHA-256 of the weights file's bytes, wherever it lies."""
        return hashlib.sha256(_weights(self.model)).hexdigest()

    def settings(
        self, variant: str = "full", goal_offset_env_steps: int = 100, overrides: Mapping[str, Any] | None = None
    ) -> Any:
        """Planner settings for one goal offset: the nearest stored offset, a named variant, then overrides."""
        variants = self.method.variants()
        if variant not in variants:
            raise RecipeError(f"{self.name} has no planner variant {variant!r}. {did_you_mean(variant, variants)}")
        stored: Mapping[str, Any] = self.planner["offsets"]
        offset = min(stored, key=lambda key: (abs(int(key) - goal_offset_env_steps), int(key)))
        plain = {**stored[offset], **variants[variant], **(overrides or {})}
        return self.method.settings(plain, f"{self.name}: planner settings")

    def controller(
        self,
        variant: str = "full",
        goal_offset_env_steps: int = 100,
        device: str = "cpu",
        **overrides: Any,
    ) -> Controller:
        """A controller that acts towards goals. `overrides` change single planner settings."""
        acting = Acting(
            action_dim=int(self.task["action_dim"]),
            action_low=float(self.task["action_low"]),
            action_high=float(self.task["action_high"]),
            discrete_values=self.task.get("discrete_values"),
            normalizer=self.normalizer,
            action_column=str(self.task.get("action_column", "action")),
            device=torch.device(device),
        )
        return self.method.controller(self.model, self.settings(variant, goal_offset_env_steps, overrides), acting)

    def encode_states(self, states: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Low and high latents of frames drawn at simulator states (high: the frame repeated to a window)."""
        frames = {name: self.world.draw(states, self.image_size, name) for name in self.world.cameras}
        named = self.method.describe(self.model, frames)
        return tuple(_array(named[level].latent) for level in ("low", "high"))  # pyright: ignore[reportReturnType]

    @cached_property
    def bank(self) -> Bank:
        """Training frames and their latents, as shipped or saved beside the weights."""
        if self.folder is None or not (self.folder / "bank.safetensors").exists():
            raise SystemFolderError(f"{self.name} carries no bank of frames (bank.safetensors). Save it with a bank.")
        tensors = load_file(self.folder / "bank.safetensors")
        return Bank(*(tensors[name].float().numpy() for name in ("states", "low", "high")))

    def pool(self, collection: str = "test") -> PairPool:
        """The shipped pool of start and goal pairs of this system's world."""
        path = asset(str(self.task["world"]), f"pool-{collection}.npz")
        return PairPool.load(path)

    def save(self, folder: Path, bank: Bank | None = None) -> Path:
        """Write the folder. Every file is whole or not there; the weights come last."""
        folder.mkdir(parents=True, exist_ok=True)
        plain = {
            "config.json": {"format": FORMAT, "method": to_plain(self.method)},
            "planner.json": self.planner,
            "task.json": self.task,
            "normalizer.json": self.normalizer.to_plain(),
            "split.json": self.split,
            "provenance.json": {**self.provenance, "weights_digest": self.weights_digest},
        }
        for name, data in plain.items():
            write_whole(folder / name, json.dumps(data, indent=1, sort_keys=True) + "\n")
        if bank is not None:
            tensors = {name: torch.from_numpy(getattr(bank, name)).half() for name in ("low", "high")}
            tensors["states"] = torch.from_numpy(bank.states)
            write_whole(folder / "bank.safetensors", save(tensors))
        write_whole(folder / "model.safetensors", _weights(self.model))
        return folder

    @staticmethod
    def load(folder: Path, name: str | None = None) -> "System":
        """Read a folder, or say in one paragraph what is wrong with it."""
        if not folder.is_dir():
            raise SystemFolderError(f"{folder} is not a folder. A System folder holds {', '.join(FILES)}.")
        config = _read(folder, "config.json")
        if config.get("format") != FORMAT:
            raise SystemFolderError(
                f"{folder / 'config.json'} has format {config.get('format')!r}; this version of dualwm reads format "
                f"{FORMAT}. Install the version of dualwm that wrote it, or train again."
            )
        try:
            method: Method = from_plain("method", config.get("method"), str(folder / "config.json"))
            normalizer = Normalizer.from_plain(_read(folder, "normalizer.json"), str(folder / "normalizer.json"))
        except (RecipeError, DataError) as problem:
            raise SystemFolderError(str(problem)) from problem
        model = method.build()
        _load_weights(model, folder / "model.safetensors")
        return System(
            name=name or str(folder),
            method=method,
            model=model.eval(),
            planner=_planner(folder),
            task=_task(folder),
            normalizer=normalizer,
            split=_read(folder, "split.json"),
            provenance=_read(folder, "provenance.json"),
            folder=folder,
        )


def load(name_or_folder: str | Path) -> System:
    """A shipped system by name (`tworoom`), or any System folder."""
    text = str(name_or_folder)
    shipped = shipped_systems()
    if text in shipped:
        return System.load(shipped[text], text)
    if not Path(text).exists():
        raise SystemFolderError(
            f"There is no shipped system and no folder named {text!r}. {did_you_mean(text, shipped)} "
            f"A System folder is what `dualwm train` writes."
        )
    return System.load(Path(text))


def asset(*parts: str) -> Path:
    """A file shipped inside the package."""
    path = Path(str(files("dualwm"))).joinpath("assets", *parts)
    if not path.exists():
        raise SystemFolderError(f"{path} is not in this installation. Install the package again.")
    return path


def shipped_systems() -> dict[str, Path]:
    """Systems inside the package, by name."""
    root = Path(str(files("dualwm"))) / "assets"
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if (path / "model.safetensors").exists()}


def _weights(model: nn.Module) -> bytes:
    return save({name: x.detach().cpu().contiguous() for name, x in model.state_dict().items()})


def _array(x: torch.Tensor) -> NDArray[np.float32]:
    return x.detach().float().cpu().numpy()


def _read(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    try:
        data = json.loads(path.read_text())
    except FileNotFoundError as problem:
        raise SystemFolderError(
            f"{path} is missing. A System folder holds {', '.join(FILES)}; copy the whole folder again, or train again."
        ) from problem
    except (OSError, ValueError) as problem:
        raise SystemFolderError(
            f"{path} should be JSON and cannot be read ({problem}). Copy the file again from its source."
        ) from problem
    if not isinstance(data, dict):
        raise SystemFolderError(f"{path} should hold a JSON object and holds {type(data).__name__}. Copy it again.")
    return data


def _planner(folder: Path) -> dict[str, Any]:
    planner = _read(folder, "planner.json")
    offsets = planner.get("offsets")
    if not isinstance(offsets, dict) or not offsets or not all(str(key).isdigit() for key in offsets):
        raise SystemFolderError(
            f"{folder / 'planner.json'} should hold planner settings by goal offset in environment steps "
            f'({{"offsets": {{"100": ...}}}}) and does not. Copy the file again from its source.'
        )
    return planner


def _task(folder: Path) -> dict[str, Any]:
    task = _read(folder, "task.json")
    for key in ("world", "rule", "image_size", "action_dim", "action_low", "action_high"):
        if key not in task:
            raise SystemFolderError(f"{folder / 'task.json'} lacks {key!r}. Copy the file again from its source.")
    return task


def _load_weights(model: nn.Module, path: Path) -> None:
    """Strict: every tensor of the model, with its shape, and nothing else."""
    expected = {name: tuple(x.shape) for name, x in model.state_dict().items()}
    try:
        with safe_open(path, framework="pt") as file:
            found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
            problem = _first_difference(expected, found)
            if problem is None:
                model.load_state_dict({name: file.get_tensor(name) for name in found})
    except (FileNotFoundError, SafetensorError, OSError) as error:
        raise SystemFolderError(
            f"{path} should hold {len(expected)} tensors in safetensors form and cannot be read ({error}). "
            "It may be truncated: copy the folder again, or train again."
        ) from error
    if problem is not None:
        raise SystemFolderError(
            f"{path} does not fit config.json: {problem}. The two files belong to different systems; copy both from "
            "the same source."
        )


def _first_difference(expected: Mapping[str, tuple[int, ...]], found: Mapping[str, tuple[int, ...]]) -> str | None:
    for name in expected:
        if name not in found:
            return f"tensor {name!r} of shape {expected[name]} is missing"
        if found[name] != expected[name]:
            return f"tensor {name!r} should have shape {expected[name]} and has {found[name]}"
    for name in found:
        if name not in expected:
            return f"it holds a tensor {name!r} that the configuration has no place for"
    return None
