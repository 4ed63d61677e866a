"""What a training command does with a data set: none of held-back episodes, no change to one that was named."""

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
from dualwm.zoo.training import inputs_of, recorded, train

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


def test_a_data_set_that_was_named_is_only_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    before = data(tmp_path / "set", 6, max_env_steps=90).digest
    done = train(recipe(8), tmp_path / "run", tmp_path / "set", record=False, device="cpu")
    assert "Training on the 6 episodes of" in (said := capsys.readouterr().out)
    assert "toys/dual_wm would record 8" in said
    assert done.system is not None
    assert done.system.provenance["data_episodes"] == 6
    assert Store.open(tmp_path / "set").digest == before


def test_the_recipes_own_folder_is_continued_and_one_made_otherwise_is_not_mixed(tmp_path: Path):
    data(tmp_path / "own", 3, collection="train")
    assert len(recorded(recipe(5), tmp_path / "own", "")) == 5
    data(tmp_path / "capped", 3, collection="train", max_env_steps=60)
    with pytest.raises(DataError, match=r"max_env_steps = 60.*its 3 episodes as they are, add --data .*capped"):
        recorded(recipe(5), tmp_path / "capped", "")
