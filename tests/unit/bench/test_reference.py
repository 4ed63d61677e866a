"""Planner costs against the plain reference: the same numbers, the same elites, whatever the sizes."""

import numpy as np
import pytest
import torch

from bench.flops import executed, predictor_flops, rollout_flops
from bench.models import controller, low_sizes, numbers, plain, random_model
from bench.reference import Part, Plain, predict, search
from dualwm.nets.products import Product
from dualwm.plan.controller import ThreeStage
from dualwm.plan.costs import Terminal, converge_cost, refine_cost, route_cost
from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Gaussian
from dualwm.plan.search import Budget, Cost, search as package_search
from dualwm.shapes import Tensor
from dualwm.states import State

CANDIDATES, ELITES = 40, 8
STAGES = ("route", "refine", "converge")
ROUNDING = 1e-4
"""Relative."""


@pytest.fixture(scope="module", params=["tiny", "laptop"])
def both(request: pytest.FixtureRequest) -> tuple[ThreeStage, Plain]:
    """The package's planner and the reference, over the same random weights."""
    method, model = random_model(request.param)
    return controller(method, model, tile_rows=16), plain(method, model)


def ours(planner: ThreeStage, stage: str, z: Tensor, goal: Tensor) -> Cost:
    calls, terminal, nothing = planner.model, Terminal(), torch.zeros(1, 0, 10)
    if stage == "route":
        return route_cost(calls.roll_high, State(z), State(goal), terminal)
    if stage == "refine":
        return refine_cost(calls.roll_low, calls.lift, State(z[:, None]), nothing, None, State(goal), calls.window)
    return converge_cost(calls.roll_low, State(z[:, None]), nothing, State(goal), terminal)


def problem(both: tuple[ThreeStage, Plain], stage: str) -> tuple[Tensor, Tensor, Tensor]:
    """A start, a goal and candidates."""
    planner, yardstick = both
    width = len(yardstick.weights["low.P_L.core.norm.weight"])
    shape = (6, planner.model.macro_width) if stage == "route" else (8, 10)
    return numbers(2, 1, width), numbers(3, 1, width), numbers(1, CANDIDATES, *shape)


@pytest.mark.parametrize("stage", STAGES)
@torch.inference_mode()
def test_a_cost_equals_the_plain_references_to_rounding(both: tuple[ThreeStage, Plain], stage: str) -> None:
    z, goal, candidates = problem(both, stage)
    mine = ours(both[0], stage, z, goal)(candidates[None]).cost[0]
    theirs = getattr(both[1], stage)(z[0], goal[0])(candidates)
    assert theirs.std() > 100 * ROUNDING * theirs.mean(), "candidates hardly differ: equality would say nothing"
    assert ((mine - theirs).abs() <= ROUNDING * theirs).all()


@pytest.mark.parametrize("stage", STAGES)
@torch.inference_mode()
def test_elites_are_the_references_wherever_the_gap_exceeds_rounding(
    both: tuple[ThreeStage, Plain], stage: str
) -> None:
    z, goal, candidates = problem(both, stage)
    mine = ours(both[0], stage, z, goal)(candidates[None]).cost[0].argsort(stable=True)[:ELITES].tolist()
    theirs = getattr(both[1], stage)(z[0], goal[0])(candidates)
    order = theirs.argsort(stable=True)
    edge = (theirs[order[ELITES - 1]] + theirs[order[ELITES]]) / 2
    clear = (theirs - edge).abs() > ROUNDING * theirs
    expected = {i for i in order[:ELITES].tolist() if clear[i]}
    assert len(expected) >= ELITES - 1, "too many candidates lie at the edge to say anything"
    assert expected <= set(mine)
    assert not any(clear[i] for i in set(mine) - set(order[:ELITES].tolist()))


def test_the_references_search_is_the_packages(both: tuple[ThreeStage, Plain]) -> None:
    z, goal, _ = problem(both, "converge")
    planner, yardstick = both
    noise = Noise(0, np.zeros(1, np.int64), np.zeros(1, np.int64), 3)
    start = torch.zeros(8, 10)
    budget = Budget(candidates=16, iterations=3, elites=4)
    proposal = Gaussian(start[None], torch.ones_like(start)[None])
    found = package_search(ours(planner, "converge", z, goal), proposal, budget, noise).plan[0]
    with torch.inference_mode():
        scores = yardstick.converge(z[0], goal[0])
        plainly = search(scores, start, start + 1, lambda i: noise.normal(i, (16, 8, 10))[0], 3, 4)
    assert torch.allclose(found, plainly, atol=1e-4)


@pytest.mark.parametrize("size", ["tiny", "laptop"])
@torch.inference_mode()
def test_the_flop_formula_is_what_the_reference_executes(size: str) -> None:
    method, model = random_model(size)
    sizes, yardstick = low_sizes(method), plain(method, model)
    part = Part(yardstick.weights, "low.P_L", yardstick.low_heads)
    states = numbers(1, 5, sizes["history"], sizes["width"])
    assert executed(lambda: predict(part, states, states)) == 5 * predictor_flops(sizes, sizes["history"])
    blocks = numbers(2, 5, 8, sizes["block"])
    assert executed(lambda: yardstick.roll_low(states[0, 0], blocks)) == 5 * rollout_flops(sizes, 8)


@torch.inference_mode()
def test_the_counter_sees_products_of_prepared_weights() -> None:
    product = Product(numbers(1, 96, 64), None, dtype=torch.float32, device=torch.device("cpu"))
    assert executed(lambda: product(numbers(2, 5, 7, 64))) == 2 * 5 * 7 * 64 * 96
