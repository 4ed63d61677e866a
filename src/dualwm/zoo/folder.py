"""The files of a System folder: each is read and checked here, or refused in one paragraph.

It names the file, the expectation and the remedy. Reading takes JSON and safetensors and looks names up in the
registry; it never unpickles and never executes what it finds.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of, save as bytes_of
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.errors import DataError, RecipeError, SystemFolderError
from dualwm.zoo.method import Method
from dualwm.zoo.parts import method_from_plain

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


def read_config(folder: Path) -> dict[str, Any]:
    """`config.json`, of a format this version knows."""
    config = read(folder, "config.json")
    if config.get("format") != FORMAT:
        raise SystemFolderError(
            f"{folder / 'config.json'} has format {config.get('format')!r}; this version of dualwm reads format "
            f"{FORMAT}. Install the version of dualwm that wrote it, or train again."
        )
    return config


def read_normalizer(folder: Path) -> Normalizer:
    """`normalizer.json`."""
    try:
        return Normalizer.from_plain(read(folder, "normalizer.json"), str(folder / "normalizer.json"))
    except DataError as problem:
        raise SystemFolderError(str(problem)) from problem


def built(plain: Any, path: Path) -> tuple[Method, nn.Module]:
    """The method and its model at random weights."""
    try:
        method = method_from_plain(plain, "method")
        return method, method.build()
    except (RecipeError, TypeError, ValueError, RuntimeError) as problem:
        raise SystemFolderError(
            f"{path} should describe a method that this version of dualwm can build, and does not: {problem} Install "
            "the version of dualwm, or the package, that wrote it; if the file was edited, copy it again."
        ) from problem


def weight_bytes(model: nn.Module) -> bytes:
    """What `model.safetensors` holds."""
    return bytes_of({name: x.detach().cpu().contiguous() for name, x in model.state_dict().items()})


def ends(plain: Any) -> tuple[float, ...]:
    """Bounds of an action: one number for all components, or one for each."""
    return tuple(map(float, cast(list[Any], plain))) if isinstance(plain, list) else (float(plain),)


def read(folder: Path, name: str) -> dict[str, Any]:
    """One of the folder's JSON files."""
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
    return cast(dict[str, Any], data)


def read_planner(folder: Path, method: Method) -> dict[str, Any]:
    """`planner.json`, with settings the method knows."""
    planner = read(folder, "planner.json")
    offsets = planner.get("offsets")
    if not isinstance(offsets, dict) or not offsets or not all(str(k).isdigit() for k in cast(dict[Any, Any], offsets)):
        raise SystemFolderError(
            f"{folder / 'planner.json'} should hold planner settings by goal offset in environment steps "
            f'({{"offsets": {{"100": ...}}}}) and does not. Copy the file again from its source.'
        )
    for offset, plain in cast(dict[str, Any], offsets).items():
        try:
            method.settings(plain, f"offset {offset}")
        except (RecipeError, TypeError, ValueError) as problem:
            raise SystemFolderError(
                f"{folder / 'planner.json'} should hold planner settings that this version of dualwm knows, and does "
                f"not: {problem} Correct the file, or copy it again from its source."
            ) from problem
    return planner


def read_task(folder: Path) -> dict[str, Any]:
    """`task.json`."""
    path, task = folder / "task.json", read(folder, "task.json")
    for key in ("world", "rule", "image_size", "action_dim", "action_low", "action_high"):
        if key not in task:
            raise SystemFolderError(f"{path} lacks {key!r}. Copy the file again from its source.")
    try:
        for key, number in {"action_low": ends, "action_high": ends, "image_size": int, "action_dim": int}.items():
            number(task[key])
    except (TypeError, ValueError) as problem:
        raise SystemFolderError(
            f"{path} should hold numbers for image_size, action_dim, action_low and action_high, and does not "
            f"({problem}). Copy the file again from its source."
        ) from problem
    return task


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """A safetensors file; nothing else is ever unpickled or tried."""
    try:
        return tensors_of(path.read_bytes())
    except (OSError, SafetensorError) as problem:
        raise SystemFolderError(
            f"{path} should hold tensors in safetensors form and cannot be read ({problem}). It may be truncated: copy "
            "the folder again, or train again."
        ) from problem


def load_weights(model: nn.Module, path: Path) -> None:
    """Strict: every tensor of the model, with its shape and type, and nothing else."""
    found, expected = read_tensors(path), model.state_dict()
    problem = _first_difference(_kinds(expected), _kinds(found))
    if problem is not None:
        raise SystemFolderError(
            f"{path} does not fit config.json: {problem}. The two files belong to different systems; copy both from "
            "the same source."
        )
    model.load_state_dict(found)


def _kinds(tensors: Mapping[str, torch.Tensor]) -> dict[str, str]:
    return {name: f"{str(x.dtype).removeprefix('torch.')} {tuple(x.shape)}" for name, x in tensors.items()}


def _first_difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    for name, kind in expected.items():
        if name not in found:
            return f"tensor {name!r} ({kind}) is missing"
        if found[name] != kind:
            return f"tensor {name!r} should be {kind} and is {found[name]}"
    for name in found:
        if name not in expected:
            return f"it holds a tensor {name!r} that the configuration has no place for"
    return None
