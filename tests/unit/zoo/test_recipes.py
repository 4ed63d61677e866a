"""Recipes are found by name or in a user's own file, and are plain data; the paper's are the paper's."""

import json
import re
from pathlib import Path

import pytest
import torch

from dualwm.errors import RecipeError
from dualwm.model.dual import DualWM, parameters
from dualwm.model.dynamics import supervised_targets
from dualwm.model.encoder import Encoder
from dualwm.model.window_encoder import segments, windows
from dualwm.plan.costs import Terminal, converge_cost, route_cost
from dualwm.plan.search import Budget
from dualwm.recipes import columns, cube, find_recipe, pusht, reacher, recipe_names, sokoban, tworoom
from dualwm.recipes.columns import paper_search
from dualwm.registry import to_plain
from dualwm.states import State
from dualwm.zoo.parts import method_from_plain
from dualwm.zoo.recipe import Recipe

TABLE_3 = """
                                   TwoRoom    Reacher    Sokoban-Long    PushT      Cube-Single
Episodes                           10000      10000      2500            18685      10000
f                                  5          5          1               5          5
k                                  3          3          2               2          2
N/M                                5/6        3/6        10/8            3/6        6/6
alpha_L/alpha_H                    0.5/0.5    0.2/0.5    0.1/0.5         0.2/0.5    0.05/0.5
Low-level regularization weight    0.30       0.30       0.25            0.09       0.15
Low-level learning rate            5e-5       2e-5       2.5e-5          1e-5       5e-6
High-level learning rate           5e-5       5e-5       5e-5            3e-5       5e-5
Batch size (L/H)                   256/256    256/256    512/512         256/512    512/256
Epochs (L/H)                       5/5        2/5        5/5             6/6        5/5
"""
"""Typed from the paper."""
TABLE_4 = """
       TwoRoom    Reacher    Sokoban-Long    PushT    Cube-Single
H_L    8          5          12              5        5
H_H    6          6          8               6        6
"""
WORLDS = {"TwoRoom": tworoom, "Reacher": reacher, "Sokoban-Long": sokoban, "PushT": pusht, "Cube-Single": cube}
COLUMNS = {
    "TwoRoom": columns.TWOROOM,
    "Reacher": columns.REACHER,
    "Sokoban-Long": columns.SOKOBAN,
    "PushT": columns.PUSHT,
    "Cube-Single": columns.CUBE,
}


def column(table: str, task: str) -> dict[str, list[float]]:
    """A task's numbers by the table's row names; one number, or low and high."""
    head, *rows = [re.split(r"\s{2,}", line.strip()) for line in table.strip().splitlines()]
    return {row[0]: [float(x) for x in row[1 + head.index(task)].split("/")] for row in rows}


@pytest.mark.parametrize("task", WORLDS)
def test_the_paper_recipes_train_as_table_3_says(task: str):
    said, recipe, epoch_steps = column(TABLE_3, task), WORLDS[task].paper(), WORLDS[task].EPOCH_STEPS
    method = recipe.method
    low, high, stages = method.low, method.high, (method.low_stage, method.high_stage)
    assert said == {
        "Episodes": [recipe.episodes],
        "f": [method.model.frame_skip],
        "k": [method.model.window],
        "N/M": [low.rollout.steps, high.rollout.steps],
        "alpha_L/alpha_H": [low.rollout.decay, high.rollout.decay],
        "Low-level regularization weight": [low.regulariser_weight],
        "Low-level learning rate": [stages[0].learning_rate],
        "High-level learning rate": [stages[1].learning_rate],
        "Batch size (L/H)": [stage.batch_size for stage in stages],
        "Epochs (L/H)": [s.steps / epoch_steps[name] for s, name in zip(stages, ("low", "high"), strict=True)],
    }
    assert (high.regulariser_weight, low.lore_weight, high.lore_weight, high.maps_weight) == (0.3, 1.0, 1.0, 0.01)
    assert all(stage.weight_decay == 1e-3 for stage in stages)


def test_the_paper_recipe_has_the_sizes_of_appendix_d():
    recipe = tworoom.paper()
    low, high = recipe.method.model.low, recipe.method.model.high
    vit = low.encoder
    assert (vit.cameras, vit.patch, vit.depth, vit.width) == ((("front", 224, 224),), 14, 12, 192)
    assert (low.width, low.history, low.predictor.depth, low.predictor.heads) == (192, 3, 6, 16)
    assert (high.width, high.predictor.depth, high.predictor.heads) == (192, 6, 16)
    assert (high.window_encoder.size.depth, high.window_encoder.size.heads) == (4, 8)
    assert (high.macro_encoder.size.depth, high.macro_encoder.size.heads) == (4, 8)
    assert high.macro_encoder.macro_width == 16


def on_meta(*shape: int) -> torch.Tensor:
    return torch.empty(shape, device="meta")


def paper_model() -> DualWM:
    """Shapes without numbers."""
    with torch.device("meta"):
        return find_recipe("tworoom/paper").method.build().eval()


def test_the_paper_recipe_builds_the_papers_numbers_of_parameters():
    model = paper_model()
    assert (parameters(model.low), parameters(model.high)) == (18_034_478, 16_386_080)


def test_the_paper_recipe_trains_on_clips_of_the_papers_shapes():
    method, model, b = find_recipe("tworoom/paper").method, paper_model(), 2
    N, M, k = method.low.rollout.steps, method.high.rollout.steps, method.model.window
    assert method.geometry() == [("low", 5, 8), ("high", 5, 21)]
    low = method.model.low
    pixels = torch.zeros(b, 224, 224, 3, dtype=torch.uint8)
    assert Encoder(low.encoder, low.width).eval()({"front": pixels}).shape == (b, 192)
    z, e = on_meta(b, 8, 192), model.low.embed_action(on_meta(b, 8, 10))
    assert e.shape == (b, 8, 192)
    z_hat = model.low.P_L.supervised(z, e, N, free=True, truncate=False)
    assert z_hat.shape == supervised_targets(z, N, 3).shape == (b, 5, 3, 192)
    W, A = windows(on_meta(b, 21, 192), k), segments(on_meta(b, 21, 10), k, M)
    assert (W.shape, A.shape) == ((b, 7, 3, 192), (b, 6, 3, 10))
    z_H, q = model.lift(W.flatten(0, 1)).unflatten(0, (b, -1)), model.high.E_A(A.flatten(0, 1))
    assert z_H.shape == (b, 7, 192)
    assert q.mean.shape == q.log_variance.shape == (b * 6, 16)
    condition = model.high.E_A.lift(q.mean).unflatten(0, (b, -1))
    assert condition.shape == (b, 6, 192)
    assert model.high.P_H.supervised(z_H, condition, M, free=True, truncate=False)[:, :, -1].shape == (b, 6, 192)


def test_the_paper_recipe_plans_with_candidates_of_the_papers_shapes():
    recipe, model, b = find_recipe("tworoom/paper"), paper_model(), 2
    settings = recipe.method.settings(recipe.planner["100"], "the paper's planner")
    high, low = settings.high_search.candidates, settings.low_search.candidates
    macros = on_meta(b, high, settings.high_plan_steps, recipe.method.model.high.macro_encoder.macro_width)
    blocks = on_meta(b, low, settings.low_plan_steps, recipe.method.model.block_width)
    assert (macros.shape, blocks.shape) == ((b, 100, 6, 16), (b, 300, 8, 10))
    z = State(on_meta(b, 192))
    route = route_cost(lambda z, u: State(model.high.rollout(z.latent, u)), z, z, Terminal())(macros)
    plan = converge_cost(
        lambda z, a: State(model.low.rollout(z.latent, a)), z[:, None], on_meta(b, 0, 10), z, Terminal()
    )(blocks)
    assert route.predicted is not None
    assert plan.predicted is not None
    assert (route.cost.shape, route.predicted.latent.shape) == ((b, 100), (b, 100, 6, 192))
    assert (plan.cost.shape, plan.predicted.latent.shape) == ((b, 300), (b, 300, 8, 192))


@pytest.mark.parametrize("task", WORLDS)
def test_the_paper_variants_search_as_table_4_says(task: str):
    said, recipe = column(TABLE_4, task), WORLDS[task].laptop()
    search = paper_search(COLUMNS[task])
    released = {("high_std", 1.0), ("low_std", 1.0), ("bounds", "none")}
    assert search.items() - recipe.variants["paper"].items() <= released, "where only the release says otherwise"
    settings = recipe.method.settings(search, "the paper's variant")
    assert said == {"H_L": [settings.low_plan_steps], "H_H": [settings.high_plan_steps]}
    assert settings.low_search == Budget(candidates=300, iterations=30, elites=30)
    assert settings.high_search == Budget(candidates=100, iterations=20, elites=10)
    assert (settings.route_cost, settings.final_cost) == ("terminal", "terminal")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_plain_data_whose_planner_its_method_knows(name: str):
    recipe = find_recipe(name)
    assert recipe.name == name
    plain = json.loads(json.dumps(to_plain(recipe.method)))
    assert method_from_plain(plain, "method") == recipe.method
    for offset, settings in recipe.planner.items():
        recipe.method.settings(settings, offset)
        for variant, changes in {**recipe.method.variants(), **recipe.variants}.items():
            recipe.method.settings({**settings, **changes}, f"{offset} {variant}")


def test_an_unknown_name_suggests_the_near_one():
    with pytest.raises(RecipeError, match=r"no recipe 'tworoom/laptap'.*'tworoom/laptop'"):
        find_recipe("tworoom/laptap")


OWN = """
from dataclasses import replace
from dualwm.recipes import find_recipe

def mine():
    return replace(find_recipe("tworoom/tiny"), name="mine", episodes=7)

def number():
    return 3
"""


def test_a_recipe_of_ones_own_is_named_by_file_and_function(tmp_path: Path):
    file = tmp_path / "own.py"
    file.write_text(OWN)
    assert find_recipe(f"{file}:mine").episodes == 7
    with pytest.raises(RecipeError, match=r"should have a function 'mime' .* has none\..*'mine'"):
        find_recipe(f"{file}:mime")
    with pytest.raises(RecipeError, match=r"'number' .* returned 3 of type int\.") as refused:
        find_recipe(f"{file}:number")
    assert "Did you mean" not in str(refused.value)
    with pytest.raises(RecipeError, match=r"is not a Python file"):
        find_recipe(f"{tmp_path / 'nowhere.py'}:mine")


def test_a_recipe_needs_settings_for_at_least_one_offset():
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={})
    with pytest.raises(RecipeError, match="at least one goal offset"):
        Recipe(name="x", world="", method=find_recipe("tworoom/tiny").method, planner={"far": {}})
