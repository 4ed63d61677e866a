"""Eight systems that differ wherever a method may differ go through the same doors, and no door knows which they are.

Each toy is one file of tests/toys_systems, made known as another package would make its methods known. The tests here
have no case for any of them; what a toy shows beyond that is told in test_toy_laws.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import toys_systems
from toys_systems import (
    actor,
    external,
    macro_bank,
    patch_grid,
    prefix_parallel,
    proprio,
    shared_latent,
    token_sequence,
)
from toys_systems.shared import EPISODES, announce, recipe_of

from dualwm.data.store import Store
from dualwm.envs.base import get_world
from dualwm.evaluate.closed_loop import Run, run
from dualwm.evaluate.pool import build_pool
from dualwm.evaluate.tasks import sample_taskset
from dualwm.records import TaskSet
from dualwm.registry import to_plain
from dualwm.train.progress import Silent
from dualwm.zoo import System, load
from dualwm.zoo.folder import FILES
from dualwm.zoo.training import Trained, build, inputs_of, recorded, train, world_of

TOYS = (patch_grid, prefix_parallel, token_sequence, shared_latent, proprio, actor, macro_bank, external)
OFFSET = 25
Make = Callable[[ModuleType], Trained]


def name_of(toy: ModuleType) -> str:
    return toy.__name__.rpartition(".")[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory):
    """A folder that announces the toys' world and methods as an installed package would."""
    folder = announce(tmp_path_factory.mktemp("site"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder


@pytest.fixture(scope="module")
def data(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One data set for all of them: two cameras, a column of proprio."""
    folder = tmp_path_factory.mktemp("data")
    recorded(recipe_of(TOYS[0]), folder, "")
    return folder


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A toy's training run, made when it is first asked for."""
    made: dict[ModuleType, Trained] = {}

    def make(toy: ModuleType) -> Trained:
        if toy not in made:
            out = tmp_path_factory.mktemp(name_of(toy))
            made[toy] = train(recipe_of(toy), out, data, progress=Silent(), device="cpu")
        return made[toy]

    return make


@pytest.fixture(scope="module", params=TOYS, ids=name_of)
def toy(request: pytest.FixtureRequest) -> ModuleType:
    return request.param


@pytest.fixture(scope="module")
def system(toy: ModuleType, trained: Make) -> System:
    found = trained(toy).system
    assert found is not None
    return found


@pytest.fixture(scope="module")
def tasks(data: Path) -> TaskSet:
    """17 tasks cut from the recorded episodes, five decisions long."""
    world = get_world("two_cameras")
    pool = build_pool("dev", Store.open(data), world, offsets=[OFFSET], min_pairs=60, min_episodes=EPISODES,
                      paper_seeds=[])  # fmt: skip
    taskset = sample_taskset(pool, seed=1000, num_tasks=17, goal_offset_env_steps=OFFSET)
    return replace(taskset, budget_env_steps=25)


def play(system: System, taskset: TaskSet, only: Sequence[int]) -> Run:
    """Some tasks through the closed loop of evaluation."""
    return run(
        system.world, system.controller(goal_offset_env_steps=OFFSET), taskset,
        size=system.image_size, variant="snap", system=system.name, weights_digest=system.weights_digest,
        only=only, keep_traces=True, keep_paths=True,
    )  # fmt: skip


def told(played: Run) -> dict[int, list[np.ndarray]]:
    """Everything that was seen to happen to each task, and everything recorded of its decisions."""
    words = {task: [path.states, path.actions] for task, path in played.paths.items()}
    for trace in played.traces:
        for row, task in enumerate(trace.tasks):
            words[task] += [np.asarray(values[row]) for values in vars(trace.decision).values()]
    return words


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return len(first) == len(second) and all(
        np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(first, second, strict=True)
    )


def differing(first: dict[str, Any], second: dict[str, Any]) -> set[str]:
    assert first.keys() == second.keys()
    return {name for name, x in first.items() if not torch.equal(x, second[name])}


def test_there_is_a_file_for_each_and_no_other():
    files = {path.stem for path in Path(toys_systems.__path__[0]).glob("*.py")}
    assert files == {name_of(toy) for toy in TOYS} | {"__init__", "shared"}
    assert len(TOYS) == 8


def test_a_training_step_moves_what_the_stages_train_and_nothing_else(toy: ModuleType, trained: Make, data: Path):
    recipe, done = recipe_of(toy), trained(toy)
    assert done.summary.finished
    assert done.system is not None
    model = build(recipe, seed=0)
    stages = recipe.method.stages(inputs_of(recipe, Store.open(data), world_of(recipe)))
    assert [(stage.name, stage.settings.steps) for stage in stages] == [
        (stage.name, stage.steps) for stage in done.summary.stages
    ]
    moved = differing(model.state_dict(), done.system.model.state_dict())
    names = {id(x): name for name, x in model.state_dict(keep_vars=True).items()}
    parts = [
        {names[id(x)] for x in (*module.parameters(), *module.buffers()) if id(x) in names}
        for stage in stages
        for module in stage.trained(model)
    ]
    assert moved <= set().union(*parts)
    assert all(part & moved for part in parts)


def test_what_was_saved_is_read_back_to_the_bit(system: System, tmp_path: Path):
    assert system.folder is not None
    found = load(system.folder)
    assert not differing(system.model.state_dict(), found.model.state_dict())
    assert to_plain(found.method) == to_plain(system.method)
    assert found.method == system.method
    found.save(tmp_path)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (system.folder / name).read_bytes(), name


def test_an_episode_is_played_and_the_system_read_back_plays_the_same_one(system: System, tasks: TaskSet):
    played = play(system, tasks, [0])
    (outcome,) = played.outcomes
    assert outcome.success or outcome.steps == tasks.budget_env_steps
    actions = played.paths[0].actions
    assert np.abs(actions).max() <= 1
    assert len(np.unique(actions)) > 1
    assert system.folder is not None
    again = play(replace(load(system.folder), name=system.name), tasks, [0])
    assert again.outcomes == played.outcomes
    assert same(told(played)[0], told(again)[0])


def test_a_task_is_played_alike_alone_with_two_others_and_among_seventeen(system: System, tasks: TaskSet):
    whole = told(play(system, tasks, range(17)))
    for chosen in ([5], [11, 0, 5]):
        part = told(play(system, tasks, chosen))
        assert sorted(part) == sorted(chosen)
        assert all(same(part[task], whole[task]) for task in chosen)
    assert not same(whole[0], whole[1])


def test_a_fresh_python_finds_each_by_the_names_in_its_folder(trained: Make, site: Path):
    systems = [trained(toy).system for toy in TOYS]
    folders = [str(system.folder) for system in systems if system is not None]
    code = (
        "import sys, dualwm\n"
        "for folder in sys.argv[1:]:\n"
        "    system = dualwm.load(folder)\n"
        "    system.controller(goal_offset_env_steps=25)\n"
        "    print(system.weights_digest, system.world.name)\n"
    )
    paths = os.pathsep.join([str(site), str(Path(toys_systems.__path__[0]).parent), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, "-c", code, *folders], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{system.weights_digest} two_cameras" for system in systems if system]
