"""What a training command does with a data set: it never fits a model on held-back episodes."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import zoo_toy

from dualwm.data.collect import collect
from dualwm.data.collections import first_seed
from dualwm.data.store import Store
from dualwm.envs.base import episodes, get_world
from dualwm.errors import DataError
from dualwm.train.progress import Silent
from dualwm.zoo.recipe import Recipe
from dualwm.zoo.training import inputs_of, train

WORLD = get_world("tworoom")


def recipe(episodes: int) -> Recipe:
    method = zoo_toy.method(cameras=(zoo_toy.FRONT,), proprio=False)
    return replace(zoo_toy.recipe(method), world="tworoom", episodes=episodes, max_env_steps=80)


def data(folder: Path, count: int, seed: int = 0, collection: str = "", max_env_steps: int = 80) -> Store:
    return collect(
        WORLD, folder, record=partial(episodes, WORLD), episodes=count, seed=seed, max_env_steps=max_env_steps,
        collection=collection,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["dev", "test"])
@pytest.mark.parametrize("told", [True, False])
def test_episodes_that_tasks_are_drawn_from_are_never_trained_on(tmp_path: Path, name: str, told: bool):
    """Also where the folder does not say what it holds: the seeds do."""
    store = data(tmp_path / "set", 4, seed=first_seed(name, 5, 4), collection=name if told else "")
    with pytest.raises(DataError, match=f"set holds episodes of '{name}', .*--data"):
        inputs_of(recipe(4), store, WORLD)
    with pytest.raises(DataError, match="holds episodes"):
        train(recipe(4), tmp_path / "run", tmp_path / "set", progress=Silent(), device="cpu")
    assert not (tmp_path / "run").exists()
