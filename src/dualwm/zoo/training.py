"""From a recipe to a System folder: data, split, normaliser, stages, bank, provenance."""

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from dualwm.data.collect import collect
from dualwm.data.collections import COLLECTIONS, collection_of, first_seed
from dualwm.data.crew import Crew, usable_cores
from dualwm.data.normalize import Normalizer
from dualwm.data.prefetch import Prefetch
from dualwm.data.split import Split, release_split
from dualwm.data.store import Store
from dualwm.envs.base import World, episodes, get_world, recorder, stores_pictures
from dualwm.errors import DataError, RecipeError
from dualwm.reduce import ALONE, Reduce
from dualwm.registry import to_plain
from dualwm.train.distributed import choose_device, start
from dualwm.train.estimate import Estimate, estimate
from dualwm.train.fit import Summary, fit
from dualwm.train.folder import refuse_foreign
from dualwm.train.progress import Progress, Silent
from dualwm.zoo.method import Draw, Sees, TrainingInputs
from dualwm.zoo.provenance import machine, versions
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.system import Bank, System

BANK_FRAMES = 2000
_REHEARSED_EPISODES = 60


@dataclass(frozen=True)
class Trained:
    """What a training command leaves."""

    summary: Summary
    system: System | None
    """None while the run is not finished."""


def world_of(recipe: Recipe) -> World | None:
    """The recipe's world; None for a recipe about recordings that come from nowhere we could simulate."""
    return get_world(recipe.world) if recipe.world else None


def recorded(recipe: Recipe, folder: Path, command: str, progress: Progress | None = None) -> Store:
    """The recipe's own data set in `folder`: opened, continued, or recorded now. Without a world it must be there."""
    world = world_of(recipe)
    there = _episodes_in(folder)
    if world is None or there >= recipe.episodes:
        return Store.open(folder)
    if progress is not None:
        progress.note(f"Recording {recipe.episodes - there:,} episodes of {world.name} into {folder}.")
    slow = stores_pictures(world)
    try:
        return collect(
            world,
            folder,
            record=lambda seeds, cap: episodes(world, seeds, cap),
            episodes=recipe.episodes,
            seed=first_seed("train", 0, recipe.episodes),
            max_env_steps=recipe.max_env_steps,
            collection="train",
            stored_size=recipe.image_size if slow else None,
            codec="zlib",
            crew=Crew(workers=usable_cores(), open=partial(recorder, recipe.world)) if slow else None,
            command=command,
        )
    except DataError as problem:
        if not there:
            raise
        raise DataError(f"{problem} To train on its {there:,} episodes as they are, add --data {folder}.") from problem


def _episodes_in(folder: Path) -> int:
    return len(Store.open(folder)) if (folder / "meta.json").exists() else 0


def as_it_is(recipe: Recipe, folder: Path, progress: Progress) -> Store:
    """A data set somebody chose. It is only read, also where the recipe would record more."""
    store = Store.open(folder)
    if recipe.world and len(store) != recipe.episodes:
        progress.note(
            f"Training on the {len(store):,} episodes of {folder} as they are; the recipe {recipe.name} would record "
            f"{recipe.episodes:,}."
        )
    return store


def inputs_of(recipe: Recipe, store: Store, world: World | None, reduce: Reduce = ALONE) -> TrainingInputs:
    """Split, normaliser and drawing for a data set. The normaliser is fitted on training episodes only."""
    _check_not_held_back(store)
    sees = recipe.method.sees
    _check_fits(sees, store, recipe.image_size)
    split = release_split(len(store), store.digest)
    columns = [store.action().name, *(name for name, _ in sees.proprio)]
    return TrainingInputs(
        store=store,
        split=split,
        normalizer=Normalizer.fit(store, split.train, columns),
        draw={} if world is None else {camera: _drawer(world, camera) for camera in world.cameras},
        image_size=recipe.image_size,
        reduce=reduce,
    )


def _check_not_held_back(store: Store) -> None:
    """Refuse what tasks are drawn from, told by the collection's name and by every episode's seed."""
    named = {store.meta.collection, *(collection_of(int(seed)) for seed in store.seeds)}
    held_back = sorted(one.name for one in COLLECTIONS.values() if one.name in named and not one.trainable)
    if held_back:
        raise DataError(
            f"Models and normalisers are fitted on the collection 'train' (or on recordings of your own), and "
            f"{store.path} holds episodes of {' and '.join(map(repr, held_back))}, from which tasks are drawn: a model "
            "that has seen them would be measured on what it knows. Name another data set with --data; "
            "`dualwm data collect` records 'train' unless told otherwise."
        )


def _check_fits(sees: Sees, store: Store, image_size: int) -> None:
    """Refuse a data set whose pictures or columns are not what the model was sized for."""
    for camera, height, width in sees.cameras:
        spec = store.camera(camera)
        found = (image_size, width) if spec.kind == "drawn" else spec.shape[:2]
        if found != (height, width):
            raise RecipeError(
                f"The recipe's model sees {height} x {width} pixels from camera {camera!r}, and {store.path} gives "
                f"{found[0]} x {found[1]} ({spec.kind}). Change the camera's size or image_size in the recipe, or "
                f"import the data with --resize {height} {width}."
            )
    for column, width in sees.proprio:
        found = int(np.prod(store.column(column).shape, dtype=np.int64))
        if found != width:
            raise RecipeError(
                f"The recipe's model reads {width} numbers from the column {column!r}, and {store.path} has {found} in "
                "it. Change the width in the recipe."
            )


def _drawer(world: World, camera: str) -> Draw:
    return lambda states, size: world.draw(states, size, camera)


def train(
    recipe: Recipe,
    out: Path,
    data: Path,
    *,
    record: bool = True,
    seed: int = 0,
    command: str = "",
    tensorboard: bool = False,
    stop_after_s: float | None = None,
    progress: Progress | None = None,
    device: str = "auto",
) -> Trained:
    """Train a recipe into a System folder, or continue. Killed at any moment, the same call goes on.

    With `record` the folder `data` is the recipe's own, recorded and continued as need be; otherwise it is only read.
    """
    began = time.time()
    refuse_foreign(out)  # before anything is recorded
    with start(device) as processes:
        progress = (progress or Progress()) if processes.first else Silent()
        with processes.first_then_others():
            store = recorded(recipe, data, command, progress) if record else as_it_is(recipe, data, progress)
        inputs = inputs_of(recipe, store, world_of(recipe), processes)
        model = build(recipe, seed).to(processes.device)
        summary = fit(
            model,
            recipe.method.stages(inputs),
            out,
            seed=seed,
            settings={"recipe": to_plain(recipe), "data": store.digest},
            processes=processes,
            iterate=Prefetch,
            progress=progress,
            tensorboard=tensorboard,
            stop_after_s=stop_after_s,
        )
        if not summary.finished or not processes.first:
            return Trained(summary, None)
        if summary.already_finished and (out / "model.safetensors").exists():
            return Trained(summary, System.load(out))
        facts = _provenance(recipe, seed, command, store, summary, began)
        return Trained(summary, finished_system(recipe, model, inputs, out, facts))


def build(recipe: Recipe, seed: int) -> torch.nn.Module:
    """The recipe's model at the random weights of a seed."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return recipe.method.build()


def finished_system(
    recipe: Recipe, model: torch.nn.Module, inputs: TrainingInputs, out: Path, facts: Mapping[str, Any]
) -> System:
    """Save the trained model as a System folder, with a bank of training frames where there is a world to draw them."""
    system = System(
        name=str(out),
        method=recipe.method,
        model=model.cpu().eval(),
        planner={"format": 1, "offsets": resolved_planner(recipe), "variants": to_plain(recipe.variants)},
        task=task_of(recipe, inputs),
        normalizer=inputs.normalizer,
        split=inputs.split.to_plain(),
        provenance=facts,
        folder=out,
    )
    system.save(out, bank_of(system, inputs.store, inputs.split))
    return system


def resolved_planner(recipe: Recipe) -> dict[str, Any]:
    """Planner settings by offset with every default written out: later defaults never change a saved system."""
    return {
        offset: to_plain(recipe.method.settings(plain, f"{recipe.name}, offset {offset}"))
        for offset, plain in recipe.planner.items()
    }


def task_of(recipe: Recipe, inputs: TrainingInputs) -> dict[str, Any]:
    """`task.json`. Without a world the action space is what the training episodes show of it."""
    world, action = world_of(recipe), inputs.store.action()
    low, high = _ranges(inputs.store, action.name, inputs.split.train) if world is None else _box(world)
    discrete = inputs.normalizer.scales[action.name].one_hot if world is None else world.discrete
    return {
        "recipe": recipe.name,
        "world": recipe.world,
        "rule": recipe.rule or ("" if world is None else world.rules[0]),
        "variant": recipe.variant or ("" if world is None else world.variants[0]),
        "image_size": recipe.image_size,
        "action_column": action.name,
        "action_dim": action.shape[0],
        "action_low": low,
        "action_high": high,
        "discrete_values": action.shape[0] if discrete else None,
    }


def _box(world: World) -> tuple[float, float]:
    return world.action_low, world.action_high


def _ranges(store: Store, column: str, chosen: Sequence[int]) -> tuple[list[float], list[float]]:
    """Smallest and largest value of each component in some episodes; actions never taken do not count."""
    ends = [
        (np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)) for _, rows in store.chunks(column, np.array(sorted(chosen)))
    ]
    return np.min([low for low, _ in ends], 0).tolist(), np.max([high for _, high in ends], 0).tolist()


def bank_of(system: System, store: Store, split: Split) -> Bank | None:
    """Evenly spread training rows with their latents; None where nothing can be drawn or described."""
    columns = store.columns_of("state")
    if not columns or not system.task["world"]:
        return None
    rows = np.concatenate([store.row_numbers(episode) for episode in split.train])
    rows = rows[np.linspace(0, len(rows) - 1, min(BANK_FRAMES, len(rows))).astype(np.int64)]
    states = np.concatenate([store.read_rows(c.name, rows).reshape(len(rows), -1) for c in columns], 1)
    latents = system.describe_states(states)
    return Bank(states.astype(np.float32), latents) if latents else None


def rehearse(
    recipe: Recipe, data: Path, *, record: bool = True, seed: int = 0, device: str = "auto", progress: Progress
) -> Estimate:
    """Time a few steps of every stage and say what the whole will take. Nothing is trained, and nothing recorded.

    Where the recipe's own data set is not there yet, a few episodes stand for it that are thrown away.
    """
    chosen = choose_device(device)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        few = min(_REHEARSED_EPISODES, recipe.episodes)
        if record and _episodes_in(data) < few:
            progress.note(f"{data} is not recorded yet: {few} episodes, simulated for a moment, stand for it.")
            store = recorded(replace(recipe, episodes=few), Path(scratch), "")
        else:
            store = Store.open(data)
        inputs = inputs_of(recipe, store, world_of(recipe))
        return estimate(
            build(recipe, seed).to(chosen),
            recipe.method.stages(inputs),
            seed=seed,
            device=chosen,
            progress=progress,
            data_share=min(1.0, len(store) / recipe.episodes) if record else 1.0,
        )


def _provenance(
    recipe: Recipe, seed: int, command: str, store: Store, summary: Summary, began: float
) -> dict[str, Any]:
    return {
        "command": command,
        "recipe": recipe.name,
        "seed": seed,
        "data_digest": store.digest,
        "data_episodes": len(store),
        "stages": [json.loads(json.dumps(vars(stage))) for stage in summary.stages],
        "wall_s_of_last_command": round(time.time() - began, 1),
        "versions": versions(),
        "machine": machine(),
    }
