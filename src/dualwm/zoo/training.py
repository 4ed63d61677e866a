"""From a recipe to a System folder: data, split, normaliser, stages, bank, provenance."""

import json
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

import dualwm
from dualwm.data.collect import collect
from dualwm.data.collections import first_seed
from dualwm.data.normalize import Normalizer
from dualwm.data.prefetch import Prefetch
from dualwm.data.split import Split, release_split
from dualwm.data.store import Store
from dualwm.envs.base import World, episodes, get_world
from dualwm.errors import DataError
from dualwm.registry import to_plain
from dualwm.train.distributed import Processes, start
from dualwm.train.estimate import Estimate, estimate
from dualwm.train.fit import Summary, fit
from dualwm.train.progress import Progress
from dualwm.zoo.method import Draw, TrainingInputs
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.system import Bank, System

BANK_FRAMES = 2000


@dataclass(frozen=True)
class Trained:
    """What a training command leaves."""

    summary: Summary
    system: System | None
    """None while the run is not finished."""


def recorded(recipe: Recipe, data: Path, world: World, command: str) -> Store:
    """The recipe's data set at `data`: opened, continued, or recorded now."""
    if (data / "meta.json").exists() and len(store := Store.open(data)) >= recipe.episodes:
        return store
    return collect(
        world,
        data,
        record=lambda seeds, cap: episodes(world, seeds, cap),
        episodes=recipe.episodes,
        seed=first_seed("train", 0, recipe.episodes),
        max_env_steps=recipe.max_env_steps,
        collection="train",
        command=command,
    )


def inputs_of(recipe: Recipe, store: Store, processes: Processes) -> TrainingInputs:
    """Split, normaliser and drawing for a data set. The normaliser is fitted on training episodes only."""
    world = get_world(recipe.world) if recipe.world else None
    split = release_split(len(store), store.digest)
    action = store.action()
    columns = [action.name, *(name for name, _ in recipe.method.model.low.encoder.proprio)]
    normalizer = Normalizer.fit(store, split.train, columns)
    return TrainingInputs(
        store=store,
        split=split,
        normalizer=normalizer,
        draw={} if world is None else {camera: _drawer(world, camera) for camera in world.cameras},
        image_size=recipe.image_size,
        reduce=processes,
    )


def _drawer(world: World, camera: str) -> Draw:
    return lambda states, size: world.draw(states, size, camera)


def train(
    recipe: Recipe,
    out: Path,
    data: Path,
    *,
    seed: int = 0,
    command: str = "",
    tensorboard: bool = False,
    stop_after_s: float | None = None,
    progress: Progress | None = None,
    device: str = "auto",
) -> Trained:
    """Train a recipe into a System folder, or continue. Killed at any moment, the same call goes on."""
    began = time.time()
    with start(device) as processes:
        world = get_world(recipe.world)
        with processes.first_then_others():
            store = recorded(recipe, data, world, command)
        inputs = inputs_of(recipe, store, processes)
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
        return Trained(summary, finished_system(recipe, model, inputs, out, world, facts))


def build(recipe: Recipe, seed: int) -> torch.nn.Module:
    """The recipe's model at the random weights of a seed."""
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        return recipe.method.build()


def finished_system(
    recipe: Recipe, model: torch.nn.Module, inputs: TrainingInputs, out: Path, world: World, facts: Mapping[str, Any]
) -> System:
    """Save the trained model as a System folder with its bank of training frames."""
    system = System(
        name=str(out),
        method=recipe.method,
        model=model.cpu().eval(),
        planner={"format": 1, "offsets": {key: dict(value) for key, value in recipe.planner.items()}},
        task=task_of(recipe, world, inputs.store),
        normalizer=inputs.normalizer,
        split=inputs.split.to_plain(),
        provenance=facts,
        folder=out,
    )
    system.save(out, bank_of(system, inputs.store, inputs.split))
    return system


def task_of(recipe: Recipe, world: World, store: Store) -> dict[str, Any]:
    """`task.json`."""
    return {
        "recipe": recipe.name,
        "world": world.name,
        "rule": recipe.rule or world.rules[0],
        "variant": recipe.variant or world.variants[0],
        "image_size": recipe.image_size,
        "action_dim": world.action_dim,
        "action_low": world.action_low,
        "action_high": world.action_high,
        "discrete_values": None,
        "action_column": store.action().name,
    }


def bank_of(system: System, store: Store, split: Split) -> Bank:
    """Evenly spread training rows with their latents."""
    columns = store.columns_of("state")
    if not columns:
        raise DataError(f"{store.path} has no state column, so no bank of frames can be made of it.")
    rows = np.concatenate([store.row_numbers(episode) for episode in split.train])
    rows = rows[np.linspace(0, len(rows) - 1, min(BANK_FRAMES, len(rows))).astype(np.int64)]
    states = np.concatenate([store.read_rows(c.name, rows).reshape(len(rows), -1) for c in columns], 1)
    low, high = system.encode_states(states)
    return Bank(states.astype(np.float32), low, high)


def rehearse(recipe: Recipe, out: Path, data: Path, seed: int, command: str) -> Estimate:
    """Time a few steps of every stage and say what the whole will take."""
    world = get_world(recipe.world)
    store = recorded(recipe, data, world, command)
    processes = Processes()
    model = build(recipe, seed)
    return estimate(model, recipe.method.stages(inputs_of(recipe, store, processes)), seed=seed)


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
        "versions": {
            "dualwm": dualwm.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "machine": {
            "platform": platform.machine(),
            "threads": torch.get_num_threads(),
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        },
    }
