"""The files of a System folder: each is read and checked here, or refused in one paragraph.

It names the file, the expectation and the remedy. Reading takes JSON and safetensors and looks names up in the
registry; it never unpickles and never executes what it finds.
"""

import json
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of, save as bytes_of
from torch import nn

from dualwm.data.normalize import Normalizer
from dualwm.data.split import Split
from dualwm.envs.base import world_names
from dualwm.errors import DataError, RecipeError, SystemFolderError, did_you_mean
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
    return _of_known_format(read(folder, "config.json"), folder / "config.json")


def _of_known_format(plain: dict[str, Any], path: Path) -> dict[str, Any]:
    if plain.get("format") != FORMAT:
        raise SystemFolderError(
            f"{path} has format {plain.get('format')!r}; this version of dualwm reads format {FORMAT}. Install the "
            "version of dualwm that wrote it, or train again."
        )
    return plain


def read_normalizer(folder: Path) -> Normalizer:
    """`normalizer.json`."""
    try:
        return Normalizer.from_plain(read(folder, "normalizer.json"), str(folder / "normalizer.json"))
    except DataError as problem:
        raise SystemFolderError(str(problem)) from problem


def read_split(folder: Path) -> dict[str, Any]:
    """`split.json`."""
    try:
        return Split.from_plain(read(folder, "split.json"), str(folder / "split.json")).to_plain()
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
        raise _missing(path) from problem
    except (OSError, ValueError) as problem:
        raise SystemFolderError(
            f"{path} should be JSON and cannot be read ({problem}). Copy the file again from its source."
        ) from problem
    if not isinstance(data, dict):
        raise SystemFolderError(f"{path} should hold a JSON object and holds {type(data).__name__}. Copy it again.")
    return cast(dict[str, Any], data)


def _missing(path: Path) -> SystemFolderError:
    return SystemFolderError(
        f"{path} is missing. A System folder holds {', '.join(FILES)}; copy the whole folder again, or train again."
    )


def read_planner(folder: Path, method: Method) -> dict[str, Any]:
    """`planner.json`, with settings the method knows."""
    planner = _of_known_format(read(folder, "planner.json"), folder / "planner.json")
    offsets = planner.get("offsets")
    if not isinstance(offsets, dict) or not offsets or not all(str(k).isdigit() for k in cast(dict[Any, Any], offsets)):
        raise SystemFolderError(
            f"{folder / 'planner.json'} should hold planner settings by goal offset in environment steps "
            f'({{"offsets": {{"100": ...}}}}) and does not. Copy the file again from its source.'
        )
    first: dict[str, Any] = next(iter(cast(dict[str, dict[str, Any]], offsets).values()))
    variants = planner.get("variants", {})
    if not isinstance(variants, dict) or not all(isinstance(v, dict) for v in cast(dict[Any, Any], variants).values()):
        raise SystemFolderError(
            f'{folder / "planner.json"} should hold under "variants" what each named variant changes '
            f'({{"paper": {{"low_search": ...}}}}) and does not. Correct it, or copy the file again from its source.'
        )
    told = {f"offset {offset}": plain for offset, plain in cast(dict[str, Any], offsets).items()}
    told |= {f"variant {name}": {**first, **changes} for name, changes in cast(dict[str, Any], variants).items()}
    for where, plain in told.items():
        try:
            method.settings(plain, where)
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
    problem = _first_problem(task)
    if problem is not None:
        raise SystemFolderError(f"{path} {problem}. Copy the file again from its source.")
    return task


def _first_problem(task: Mapping[str, Any]) -> str | None:
    try:
        low, high = ends(task["action_low"]), ends(task["action_high"])
        width, height = int(task["action_dim"]), int(task["image_size"])
    except (TypeError, ValueError) as problem:
        return f"should hold numbers for image_size, action_dim, action_low and action_high, and does not ({problem})"
    if min(width, height) < 1:
        return f"should have action_dim and image_size of at least 1, and has {width} and {height}"
    if not {len(low), len(high)} <= {1, width}:
        return (
            f"should bound all action components alike or each of action_dim={width}, and has {len(low)} numbers in "
            f"action_low and {len(high)} in action_high"
        )
    if not all(-inf < a <= b < inf for a, b in np.broadcast(low, high)):
        return f"should have finite action_low no higher than action_high, and has {low} and {high}"
    if task.get("discrete_values") not in (None, width):
        return (
            f"should have discrete_values of null, or of action_dim={width} where actions are one-hot, and has "
            f"{task['discrete_values']!r}"
        )
    if task["world"] and task["world"] not in world_names():
        near = did_you_mean(str(task["world"]), world_names())
        return f"names the world {task['world']!r}, which is not installed ({near}); install the package that brings it"
    return None


def check_together(folder: Path, method: Method, task: Mapping[str, Any], normalizer: Normalizer) -> None:
    """Files from different systems are refused: the widths that more than one of them declares must agree."""
    width, path = int(task["action_dim"]), folder / "normalizer.json"
    if method.action_dim not in (None, width):
        raise SystemFolderError(
            f"{folder / 'task.json'} has action_dim={width}, and config.json describes a model of actions of width "
            f"{method.action_dim}. The two files belong to different systems; copy both from the same source."
        )
    columns = {str(task.get("action_column", "action")): width, **dict(method.sees.proprio)}
    for column, numbers in columns.items():
        found = len(normalizer.scales[column].mean) if column in normalizer.scales else 0
        if found != numbers:
            raise SystemFolderError(
                f"{path} should scale the {numbers} numbers of column {column!r} (task.json, config.json) and scales "
                f"{found or 'no such column'}. The files belong to different systems; copy them from the same source."
            )


def read_tensors(path: Path) -> dict[str, torch.Tensor]:
    """A safetensors file of finite numbers; nothing else is ever unpickled or tried."""
    try:
        tensors = tensors_of(path.read_bytes())
    except FileNotFoundError as problem:
        raise _missing(path) from problem
    except (OSError, SafetensorError) as problem:
        raise SystemFolderError(
            f"{path} should hold tensors in safetensors form and cannot be read ({problem}). It may be truncated: copy "
            "the folder again, or train again."
        ) from problem
    for name, x in tensors.items():
        if not x.isfinite().all():
            raise SystemFolderError(
                f"{path} should hold finite numbers, and tensor {name!r} {tuple(x.shape)} has "
                f"{int((~x.isfinite()).sum())} that are NaN or infinite. Copy the folder again, or train again."
            )
    return tensors


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
