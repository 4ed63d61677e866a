"""The three costs and the two reductions, on the integrator."""

import math

import pytest
import torch
from toys import IntegratorModel

from dualwm.plan.costs import SoftMinimum, Terminal, converge_cost, refine_cost, route_cost
from dualwm.states import State

MODEL = IntegratorModel(weights=(0.2, 0.3, 0.5))
NO_PAST = torch.zeros(2, 0, 2)


def seeded(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("n", [5, 8, 12])
def test_equal_distances_cost_one_percent_more_than_one_of_them(n: int):
    for d in (0.0, 0.7, 400.0):
        assert float(SoftMinimum()(torch.full((1, 1, n), d))) == pytest.approx(1.01 * d, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("n", "expected"), [(5, 0.161), (8, 0.208), (12, 0.248)])
def test_touching_the_goal_once_costs_the_log_of_the_length(n: int, expected: float):
    distances = torch.full((1, 1, n), 100.0)
    for touched in (0, n - 1):
        once = distances.clone()
        once[..., touched] = 0.0
        mean = 100.0 * (n - 1) / n
        assert float(SoftMinimum()(once)) == pytest.approx(0.1 * math.log(n) + 0.01 * mean, rel=1e-5)
        assert float(SoftMinimum(path_weight=0.0)(once)) == pytest.approx(expected, abs=5e-4)


def test_the_terminal_cost_looks_at_the_end_only():
    distances = seeded(2, 3, 4).square()
    assert torch.equal(Terminal()(distances), distances[..., -1])


def test_a_route_costs_the_squared_distance_from_its_end_to_the_goal():
    z, goal, u = seeded(2, 2), seeded(2, 2, seed=1), seeded(2, 5, 3, 2, seed=2)
    score = route_cost(MODEL.roll_high, State(z), State(goal), Terminal())(u)
    path = z[:, None, None] + u.cumsum(2)
    torch.testing.assert_close(score.cost, (path[:, :, -1] - goal[:, None]).square().sum(-1))
    assert score.predicted is not None
    torch.testing.assert_close(score.predicted.latent, path)


def test_convergence_costs_the_squared_distance_from_the_last_prediction_to_the_goal():
    z, goal, a = seeded(2, 1, 2), seeded(2, 2, seed=1), seeded(2, 5, 4, 2, seed=2)
    score = converge_cost(MODEL.roll_low, State(z), NO_PAST, State(goal), Terminal())(a)
    end = z[:, None, 0] + a.sum(2)
    torch.testing.assert_close(score.cost, (end - goal[:, None]).square().sum(-1))


def refine(p: int, states: torch.Tensor, subgoal: torch.Tensor, model: IntegratorModel = MODEL):
    """The refinement cost after p decisions; states (b, p + 1, d): where the subgoal was set, then observed."""
    prefix = State(states[:, 1:]) if p else None
    return refine_cost(model.roll_low, model.lift, State(states[:, -1:]), NO_PAST, prefix, State(subgoal), 3)


@pytest.mark.parametrize("p", [0, 1, 2])
def test_the_guided_window_is_the_observed_states_and_then_the_predicted_ones(p: int):
    """Of the five blocks of a candidate only those inside the window count."""
    a, start, subgoal = seeded(2, 5, 2), seeded(2, 2, seed=1), seeded(2, 2, seed=2)
    path = torch.cat([start[:, None], start[:, None] + a.cumsum(1)], 1)
    window = path[:, 1:4]
    lifted = (torch.tensor([0.2, 0.3, 0.5])[:, None] * window).sum(1)
    score = refine(p, path[:, : p + 1], subgoal)(a[:, None, p:])
    torch.testing.assert_close(score.cost[:, 0], (lifted - subgoal).square().sum(-1))


@pytest.mark.parametrize("p", [1, 2])
def test_executing_a_plan_on_a_perfect_model_leaves_its_cost_as_it_was(p: int):
    """The comparison window at p, observed and predicted, is the one predicted at p = 0."""
    plan, start, subgoal = seeded(2, 5, 2), seeded(2, 2, seed=1), seeded(2, 2, seed=2)
    path = torch.cat([start[:, None], start[:, None] + plan.cumsum(1)], 1)
    before = refine(0, path[:, :1], subgoal)(plan[:, None])
    after = refine(p, path[:, : p + 1], subgoal)(plan[:, None, p:])
    torch.testing.assert_close(after.cost, before.cost)


@pytest.mark.parametrize("p", [0, 1, 2])
def test_guided_costs_do_not_depend_on_blocks_beyond_the_window_and_do_not_compute_them(p: int):
    model = IntegratorModel(weights=(0.2, 0.3, 0.5))
    cost = refine(p, seeded(2, p + 1, 2), seeded(2, 2, seed=2), model)
    a = seeded(2, 4, 6, 2, seed=3)
    within, beyond = a.clone(), a.clone()
    beyond[:, :, 3 - p :] += 10.0
    within[:, :, 3 - p - 1] += 10.0
    assert torch.equal(cost(beyond).cost, cost(a).cost)
    assert not torch.allclose(cost(within).cost, cost(a).cost)
    assert {steps for _, _, steps in model.calls} == {3 - p}


def test_blocks_already_executed_lead_through_the_observed_context():
    """The toy model refuses a context whose blocks do not lead from state to state."""
    past = seeded(2, 2, 2)
    states = torch.cat([torch.zeros(2, 1, 2), past.cumsum(1)], 1)
    goal, a = seeded(2, 2, seed=1), seeded(2, 5, 4, 2, seed=2)
    score = converge_cost(MODEL.roll_low, State(states), past, State(goal), Terminal())(a)
    end = states[:, None, -1] + a.sum(2)
    torch.testing.assert_close(score.cost, (end - goal[:, None]).square().sum(-1))
    with pytest.raises(AssertionError):
        converge_cost(MODEL.roll_low, State(states), past.flip(1), State(goal), Terminal())(a)


def test_token_grids_and_proprio_enter_the_distance():
    """Costs never look inside a state: patches carry the distance, proprio adds its weighted own."""

    def roll(context: State, actions: torch.Tensor) -> State:
        n = actions.shape[1]
        return context.map(lambda x: x[:, -1:].expand(x.shape[0], n, *x.shape[2:]))

    z = State(torch.zeros(2, 1, 3), torch.ones(2, 1, 4, 3), torch.ones(2, 1, 2), proprio_weight=0.5)
    goal = State(torch.full((2, 3), 9.0), torch.zeros(2, 4, 3), torch.zeros(2, 2))
    score = converge_cost(roll, z, NO_PAST, goal, Terminal())(seeded(2, 5, 4, 2))
    assert torch.equal(score.cost, torch.full((2, 5), 12.0 + 0.5 * 2))
