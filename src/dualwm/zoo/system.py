"""A System: method, weights, planner, task, normaliser, split, provenance. Saved as a folder, it can act alone."""

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
from safetensors.torch import save as bytes_of
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.envs.base import World, get_world
from dualwm.errors import RecipeError, SystemFolderError, did_you_mean
from dualwm.evaluate.needs import Controller
from dualwm.evaluate.pool import PairPool
from dualwm.files import write_whole
from dualwm.records import Observation
from dualwm.registry import to_plain
from dualwm.zoo.folder import (
    FILES,
    FORMAT,
    built,
    check_together,
    ends,
    load_weights,
    read,
    read_config,
    read_normalizer,
    read_planner,
    read_split,
    read_task,
    read_tensors,
    weight_bytes,
)
from dualwm.zoo.method import Acting, Method


@dataclass(frozen=True)
class Bank:
    """Training frames by their states, with their latents: imagined latents become pictures by nearest neighbour."""

    states: NDArray[np.float32]
    latents: Mapping[str, NDArray[np.float32]]
    """By the names a method describes frames with, such as "low" and "high"."""

    @property
    def low(self) -> NDArray[np.float32]:
        """(n, d), of the frame."""
        return self._latent("low")

    @property
    def high(self) -> NDArray[np.float32]:
        """(n, e), of the frame repeated to a window."""
        return self._latent("high")

    @staticmethod
    def load(path: Path) -> "Bank":
        """`bank.safetensors`."""
        latents = {name: x.float().numpy() for name, x in read_tensors(path).items()}
        rows = {name: len(x) for name, x in latents.items()}
        if "states" not in latents or len(set(rows.values())) > 1:
            raise SystemFolderError(
                f"{path} should hold 'states' and latents, as many rows of each, and holds {rows} (rows by tensor). "
                "Copy the file again from its source."
            )
        return Bank(latents.pop("states"), latents)

    def _latent(self, name: str) -> NDArray[np.float32]:
        if name not in self.latents:
            raise SystemFolderError(
                f"bank.safetensors should hold {name!r} latents of its frames, and holds {sorted(self.latents)}. Copy "
                "the file again from its source; a method that describes no such latents has none to show."
            )
        return self.latents[name]


@dataclass(frozen=True, kw_only=True)
class System:
    """A trained (or random) system: a method, its weights, and all that acting takes."""

    name: str
    """What outcomes call it: the shipped name or the folder."""
    method: Method
    model: nn.Module
    planner: Mapping[str, Any]
    """`planner.json`: {"format", "offsets": {goal offset: planner settings}, "variants": {name: what it changes}}."""
    task: Mapping[str, Any]
    """`task.json`: world, success rule, variant, image size, action space."""
    normalizer: Normalizer
    split: Mapping[str, Any]
    """`split.json`: the episodes that trained and those held out."""
    provenance: Mapping[str, Any] = field(default_factory=dict[str, Any])
    folder: Path | None = None

    @cached_property
    def world(self) -> World:
        """The world the system was trained in."""
        if not self.task["world"]:
            raise SystemFolderError(
                f"{self.name} was trained on data without a world: there is nothing to evaluate it in. Let it act "
                "through dualwm.Planner on your own machine, or train on a data set of a known world."
            )
        return get_world(str(self.task["world"]))

    @property
    def image_size(self) -> int:
        """Height in pixels of the frames that are drawn for the model."""
        return int(self.task["image_size"])

    @cached_property
    def weights_digest(self) -> str:
        """SHA-256 of the weights file's bytes, wherever it lies."""
        return hashlib.sha256(weight_bytes(self.model)).hexdigest()

    def settings(
        self, variant: str = "full", goal_offset_env_steps: int = 100, overrides: Mapping[str, Any] | None = None
    ) -> Any:
        """Planner settings for one goal offset: the nearest stored offset, a named variant, then overrides."""
        variants = {**self.method.variants(), **self.planner.get("variants", {})}
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
            action_low=ends(self.task["action_low"]),
            action_high=ends(self.task["action_high"]),
            discrete_values=self.task.get("discrete_values"),
            normalizer=self.normalizer,
            action_column=str(self.task.get("action_column", "action")),
            device=torch.device(device),
            observe=self.observe if self.task["world"] else None,
        )
        return self.method.controller(self.model, self.settings(variant, goal_offset_env_steps, overrides), acting)

    def observe(self, states: NDArray[Any]) -> Observation:
        """What the model is shown of simulator states."""
        sees = self.method.sees
        frames = {name: self.world.draw(states, self.image_size, name) for name, _, _ in sees.cameras}
        proprio = self.world.proprio(states) if sees.proprio else {}
        return Observation(frames=frames, proprio={name: proprio[name] for name, _ in sees.proprio})

    def describe_states(self, states: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
        """Named latents of what the model is shown of simulator states."""
        named = self.method.describe(self.model, self.observe(states), self.normalizer)
        return {name: state.latent.detach().float().cpu().numpy() for name, state in named.items()}

    def encode_states(self, states: NDArray[Any]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Low and high latents of frames drawn at simulator states (high: the frame repeated to a window).

        A method of one level has its low latents in both places.
        """
        named = self.describe_states(states)
        return named["low"], named.get("high", named["low"])

    @cached_property
    def bank(self) -> Bank:
        """Training frames and their latents, as shipped or saved beside the weights."""
        if self.folder is None or not (self.folder / "bank.safetensors").exists():
            raise SystemFolderError(f"{self.name} carries no bank of frames (bank.safetensors). Save it with a bank.")
        return Bank.load(self.folder / "bank.safetensors")

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
            tensors = {name: torch.from_numpy(latents).half() for name, latents in bank.latents.items()}
            tensors["states"] = torch.from_numpy(bank.states)
            write_whole(folder / "bank.safetensors", bytes_of(tensors))
        write_whole(folder / "model.safetensors", weight_bytes(self.model))
        return folder

    @staticmethod
    def load(folder: Path, name: str | None = None) -> "System":
        """Read a folder, or say in one paragraph what is wrong with it."""
        if not folder.is_dir():
            raise SystemFolderError(f"{folder} is not a folder. A System folder holds {', '.join(FILES)}.")
        method, model = built(read_config(folder).get("method"), folder / "config.json")
        load_weights(model, folder / "model.safetensors")
        task, normalizer = read_task(folder), read_normalizer(folder)
        check_together(folder, method, task, normalizer)
        return System(
            name=name or str(folder),
            method=method,
            model=model.eval(),
            planner=read_planner(folder, method),
            task=task,
            normalizer=normalizer,
            split=read_split(folder),
            provenance=read(folder, "provenance.json"),
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


def asset_folder(*parts: str) -> Path:
    """Where the package keeps what it ships, whether or not it is there."""
    return Path(str(files("dualwm"))).joinpath("assets", *parts)


def asset(*parts: str) -> Path:
    """A file shipped inside the package."""
    path = asset_folder().joinpath(*parts)
    if not path.exists():
        raise SystemFolderError(f"{path} is not in this installation. Install the package again.")
    return path


def shipped_systems() -> dict[str, Path]:
    """Systems inside the package, by name."""
    root = asset_folder()
    if not root.is_dir():
        return {}
    return {path.name: path for path in sorted(root.iterdir()) if (path / "model.safetensors").exists()}
