"""The three-stage controller on the integrator: schedules, warm starts, histories, goals reached."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from toys import KEYS, IntegratorModel, KeyActions, PlainActions, drive, see

from dualwm.errors import ControllerError, RecipeError
from dualwm.plan.controller import ThreeStage
from dualwm.plan.costs import SoftMinimum, Terminal
from dualwm.plan.proposals import Categorical, Gaussian, Proposal, Squashed
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.plan.situation import Situation
from dualwm.records import Goal
from dualwm.states import State

TINY = Budget(candidates=8, iterations=2, elites=2)
GOOD = Budget(candidates=64, iterations=10, elites=8)
REFINE, CONVERGE, REUSE = 1, 2, 3


def settings(**changes: object) -> PlannerSettings:
    return replace(PlannerSettings(low_search=TINY, high_search=TINY), **changes)  # pyright: ignore[reportArgumentType]


KEY_MODEL = IntegratorModel(moves=KEYS, window=2)


@dataclass
class Watched:
    """A controller that notes what every search was offered to begin with."""

    settings: PlannerSettings
    model: IntegratorModel = field(default_factory=IntegratorModel)
    actions: PlainActions | KeyActions = field(default_factory=PlainActions)
    asked: list[Situation] = field(default_factory=list)

    def controller(self) -> ThreeStage:
        return ThreeStage(self.model, self.actions, self.settings, propose=self._propose)

    def _propose(self, situation: Situation) -> Proposal:
        self.asked.append(situation)
        return situation.usual

    def drive(self, decisions: int, goal: tuple[float, float] = (6.0, 3.0)):
        return drive(self.controller(), [[0.0, 0.0]], [goal], decisions)

    def starts(self, stage: str) -> list[torch.Tensor]:
        """What the searches of one stage started from: the first task's mean or probabilities."""
        means = []
        for situation in self.asked:
            if situation.stage == stage:
                usual = situation.usual
                means.append(usual.probabilities[0] if isinstance(usual, Categorical) else usual.plan[0])
        return means


# The schedules of the five worlds at offset 100: what is guided, when a route is planned, how often is searched.


@dataclass(frozen=True)
class Schedule:
    settings: PlannerSettings
    window: int
    decisions: int
    guided: list[int]
    routed: list[int]
    low_searches: int


TWOROOM = settings(guided_decisions=6, max_routes=4, low_plan_steps=8, high_plan_steps=6)
REACHER = settings(guided_decisions=2, max_routes=3, low_plan_steps=5, high_plan_steps=6)
PUSHT = settings(
    guided_decisions=2, max_routes=3, low_plan_steps=5, high_plan_steps=6, low_std=0.25, bounds="tanh"
)  # fmt: skip
CUBE = settings(guided_decisions=1, max_routes=3, low_plan_steps=5, high_plan_steps=6, low_std=1.25)
SOKOBAN = settings(
    guided_decisions=2,
    max_routes=1,
    low_plan_steps=12,
    high_plan_steps=8,
    high_std=0.25,
    padded_start=False,
    final_reuse_decisions=4,
)

SCHEDULES = {
    "TwoRoom": Schedule(TWOROOM, 3, 25, [0, 1, 2, 3, 4, 5], [0, 3], 25),
    "Reacher": Schedule(REACHER, 3, 25, [0, 1], [0], 25),
    "PushT": Schedule(PUSHT, 2, 25, [0, 1], [0], 25),
    "Cube": Schedule(CUBE, 2, 25, [0], [0], 25),
    "Sokoban": Schedule(SOKOBAN, 2, 125, [1, 2], [1], 34),
    "low-level only": Schedule(replace(TWOROOM, guided_decisions=0), 3, 25, [], [], 25),
}


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES.keys())
def test_decisions_follow_the_schedule_of_the_world(schedule: Schedule):
    keys = schedule.settings is SOKOBAN
    model = replace(KEY_MODEL, calls=[]) if keys else IntegratorModel(window=schedule.window)
    controller = ThreeStage(model, KeyActions() if keys else PlainActions(), schedule.settings)
    steps = drive(controller, [[0.0, 0.0]], [[40.0, 30.0]], schedule.decisions)
    stages = [int(s.decision.stage[0]) for s in steps]
    assert [i for i, stage in enumerate(stages) if stage == REFINE] == schedule.guided
    assert [i for i, s in enumerate(steps) if s.decision.routed[0]] == schedule.routed
    assert sum(stage != REUSE for stage in stages) == schedule.low_searches
    searched = [not np.isnan(s.decision.best_cost[0]).any() for s in steps]
    assert searched == [stage != REUSE for stage in stages]


def test_sokoban_serves_a_converging_plan_four_times_and_begins_without_guidance():
    controller = ThreeStage(KEY_MODEL, KeyActions(), SOKOBAN)
    stages = [int(s.decision.stage[0]) for s in drive(controller, [[0.0, 0.0]], [[4.0, 3.0]], 12)]
    assert stages == [2, 1, 1, 2, 3, 3, 3, 2, 3, 3, 3, 2]


def test_progress_counts_decisions_since_the_subgoal_was_set():
    steps = drive(ThreeStage(IntegratorModel(), PlainActions(), TWOROOM), [[0.0, 0.0]], [[40.0, 30.0]], 8)
    assert [int(s.decision.progress[0]) for s in steps] == [0, 1, 2, 0, 1, 2, 3, 3]
    subgoals = [s.decision.subgoal[0].tolist() for s in steps]
    assert subgoals[0] == subgoals[1] == subgoals[2] != subgoals[3]


def test_guidance_ends_when_no_route_is_left():
    steps = drive(
        ThreeStage(IntegratorModel(), PlainActions(), settings(guided_decisions=99, max_routes=2)),
        [[0.0, 0.0]], [[40.0, 30.0]], 9,
    )  # fmt: skip
    assert [int(s.decision.stage[0]) for s in steps] == [1] * 6 + [2] * 3


def test_a_route_may_be_planned_anew_at_every_decision():
    steps = drive(
        ThreeStage(IntegratorModel(), PlainActions(), replace(TWOROOM, guided_decisions=4, route_every_decisions=1)),
        [[0.0, 0.0]], [[40.0, 30.0]], 6,
    )  # fmt: skip
    assert [bool(s.decision.routed[0]) for s in steps] == [True] * 4 + [False] * 2
    assert [int(s.decision.progress[0]) for s in steps[:4]] == [0, 0, 0, 0]


def test_a_route_that_meets_the_goal_soon_ends_guidance_for_good():
    one_step = settings(high_plan_steps=1, converge_within_high_steps=1)
    steps = drive(ThreeStage(IntegratorModel(), PlainActions(), one_step), [[0.0, 0.0]], [[4.0, 3.0]], 3)
    assert [int(s.decision.stage[0]) for s in steps] == [2, 2, 2]
    assert [bool(s.decision.routed[0]) for s in steps] == [True, False, False]
    later = replace(one_step, converge_within_high_steps=0)
    steps = drive(ThreeStage(IntegratorModel(), PlainActions(), later), [[0.0, 0.0]], [[4.0, 3.0]], 3)
    assert [int(s.decision.stage[0]) for s in steps] == [1, 1, 1]


# Goals


@pytest.mark.parametrize("bounds", ["none", "clip", "tanh"])
@pytest.mark.parametrize("frame_skip", [1, 2])
def test_the_goal_is_reached_with_and_without_guidance(bounds: str, frame_skip: int):
    model = IntegratorModel(moves=torch.eye(2).repeat(frame_skip, 1), weights=(0.2, 0.3, 0.5))
    actions = PlainActions(frame_skip=frame_skip, scale=0.5)
    good = settings(low_search=GOOD, high_search=GOOD, bounds=bounds, low_plan_steps=4, final_cost="soft_minimum")
    for guided in (0, 6):
        controller = ThreeStage(model, actions, replace(good, guided_decisions=guided))
        path = np.concatenate([step.z for step in drive(controller, [[0.0, 0.0]], [[6.0, -4.0]], 14)])
        assert np.abs(path - [6.0, -4.0]).max(1).min() < 0.5


def test_keys_walk_to_the_goal():
    wide = replace(GOOD, candidates=256, elites=32)  # five keys in a row can be 3,125 ways
    good = replace(SOKOBAN, low_search=wide, high_search=GOOD, high_std=1.0, low_plan_steps=5)
    last = drive(ThreeStage(KEY_MODEL, KeyActions(), good), [[0.0, 0.0]], [[3.0, -2.0]], 16)[-1]
    assert np.abs(last.z - [3.0, -2.0]).max() == 0


def test_the_goal_window_repeats_the_single_frame():
    weighted = IntegratorModel(weights=(0.2, 0.3, 0.5))
    memory = ThreeStage(weighted, PlainActions(), settings()).start(Goal(latent=np.float32([[6, 3]])), [0], 0)
    torch.testing.assert_close(memory.goal_H.latent, torch.tensor([[6.0, 3.0]]))


def test_the_first_window_repeats_the_first_frame_and_later_ones_hold_the_last_k():
    watched = Watched(settings(route_every_decisions=1, max_routes=99), model=IntegratorModel(weights=(0.2, 0.3, 0.5)))
    seen = np.stack([s.z[0] for s in watched.drive(5)])
    contexts = [s.context.latent[0, 0] for s in watched.asked if s.stage == "route"]
    padded = np.concatenate([seen[:1], seen[:1], seen])
    for i, z_H in enumerate(contexts):
        expected = np.float32([0.2, 0.3, 0.5]) @ padded[i : i + 3]
        np.testing.assert_allclose(z_H, expected, rtol=1e-5, atol=1e-5)


@dataclass(frozen=True)
class Lifting(IntegratorModel):
    """Keeps every window it lifts, and looks at all of it."""

    weights: tuple[float, ...] = (0.2, 0.3, 0.5)
    lifted: list[torch.Tensor] = field(default_factory=list)

    def lift(self, window: State) -> State:
        self.lifted.append(window.latent)
        return super().lift(window)


def test_refinement_compares_the_states_observed_since_the_subgoal_was_set_and_then_predictions():
    model = Lifting()
    steps = drive(ThreeStage(model, PlainActions(), TWOROOM), [[0.0, 0.0]], [[40.0, 30.0]], 6)
    windows = [window for window in model.lifted if len(window) == TINY.candidates]
    assert len(windows) == 6 * TINY.iterations
    seen = torch.from_numpy(np.concatenate([step.z for step in steps]))
    assert len(seen.unique(dim=0)) == 6
    for i, step in enumerate(steps):
        p = int(step.decision.progress[0])
        for window in windows[TINY.iterations * i : TINY.iterations * (i + 1)]:
            observed, predicted = window[:, :p], window[:, p:]
            assert torch.equal(observed, seen[i + 1 - p : i + 1].expand_as(observed))
            assert (predicted.std(0) > 0).all(), "every candidate its own"
    assert [int(step.decision.progress[0]) for step in steps] == [0, 1, 2, 0, 1, 2]


def test_the_first_state_of_the_route_is_the_subgoal():
    (step,) = drive(ThreeStage(IntegratorModel(), PlainActions(), settings()), [[0.0, 0.0]], [[6.0, 3.0]], 1)
    assert np.array_equal(step.decision.subgoal, step.decision.route[:, 0])
    np.testing.assert_allclose(step.decision.route[0], step.memory.macros[0].cumsum(0), rtol=1e-5, atol=1e-6)


# What the low-level model is given


@pytest.mark.parametrize(
    ("history", "low_history", "lengths"),
    [(1, 3, [1, 1, 1, 1]), (2, 3, [1, 2, 2, 2]), (3, 3, [1, 2, 3, 3]), (9, 2, [1, 2, 2, 2])],
)
@pytest.mark.parametrize("guided", [0, 6])
def test_true_history_is_given_with_the_blocks_that_were_executed(
    history: int, low_history: int, lengths: list[int], guided: int
):
    """The toy model itself refuses a context whose blocks do not lead from state to state."""
    model = IntegratorModel(low_history=low_history)
    watched = Watched(settings(history=history, guided_decisions=guided), model=model)
    watched.drive(4)
    low = [s.context.latent.shape[1] for s in watched.asked if s.stage != "route"]
    assert low == lengths


@pytest.mark.parametrize("history", [1, 2])
def test_what_was_executed_must_be_told_to_a_planner_with_history_and_fit_in_any(history: int):
    model = IntegratorModel(moves=torch.eye(2).repeat(2, 1))
    controller = ThreeStage(model, PlainActions(frame_skip=2), settings(history=history))
    z = np.zeros((1, 2), np.float32)
    chunk, memory, _ = controller.act(controller.start(Goal(latent=z), [0], 0), see(z))
    wrong = [chunk[:, :1], chunk[..., :1], chunk.repeat(2, 0), *([None] if history > 1 else [])]
    for executed in wrong:
        with pytest.raises(ControllerError, match=r"executed should hold .* = \(1, 2, 2\), and .* came"):
            controller.act(memory, see(z, executed))
    if history == 1:
        controller.act(memory, see(z))


def test_a_longer_memory_than_the_window_serves_a_long_history():
    watched = Watched(settings(history=5, guided_decisions=0, low_plan_steps=3), model=IntegratorModel(low_history=5))
    watched.drive(6)
    assert [s.context.latent.shape[1] for s in watched.asked] == [1, 2, 3, 4, 5, 5]


def test_the_actor_of_a_search_sees_context_target_and_goal():
    watched = Watched(settings())
    step = watched.drive(7)[-1]
    by_stage = {s.stage: s for s in watched.asked}
    assert set(by_stage) == {"route", "refine", "converge"}
    assert all(torch.equal(s.goal.latent, torch.tensor([[6.0, 3.0]])) for s in watched.asked)
    assert torch.equal(by_stage["refine"].target.latent, step.memory.subgoal.latent)
    assert torch.equal(by_stage["converge"].target.latent, torch.tensor([[6.0, 3.0]]))
    assert np.array_equal(by_stage["converge"].context.latent[:, -1], step.z)


# Warm starts


def test_a_search_starts_from_the_rest_of_the_last_plan_while_the_objective_stays():
    watched = Watched(settings(guided_decisions=0))
    steps = watched.drive(3)
    starts = watched.starts("converge")
    assert not starts[0].any()
    for before, start in zip(steps, starts[1:], strict=False):
        assert torch.equal(start[:-1], before.memory.plan[0, :-1])
        assert not start[-1].any(), "the missing block starts at the mean action"
        assert start[:-1].any()


def test_another_subgoal_and_the_switch_to_the_goal_discard_the_plan():
    watched = Watched(settings())
    watched.drive(8)
    fresh = [not start.any() for start in watched.starts("refine")]
    assert fresh == [True, False, False, True, False, False]
    assert [not start.any() for start in watched.starts("converge")] == [True, False]


def test_without_warm_start_every_search_begins_anew():
    watched = Watched(settings(guided_decisions=0, warm_start=False))
    watched.drive(3)
    assert all(not start.any() for start in watched.starts("converge"))


def test_missing_rows_of_a_key_plan_start_uniform_and_known_ones_lean_to_their_key():
    watched = Watched(replace(SOKOBAN, final_reuse_decisions=1, guided_decisions=0), KEY_MODEL, KeyActions())
    steps = watched.drive(2)
    first, second = watched.starts("converge")
    assert torch.equal(first, torch.full_like(first, 0.2))
    torch.testing.assert_close(second[-1, 0], torch.full((5,), 0.2))
    known = steps[0].memory.plan[0, :-1].argmax(-1)
    assert torch.equal(second[:-1, 0].argmax(-1), known)
    torch.testing.assert_close(second[:-1, 0].amax(-1), torch.full((11,), 1.1 / 1.5))


def test_a_route_may_start_from_what_is_left_of_the_last_one():
    for warm in (True, False):
        watched = Watched(settings(route_every_decisions=1, max_routes=99, warm_start_route=warm))
        steps = watched.drive(3)
        starts = watched.starts("route")
        assert not starts[0].any()
        left = steps[0].memory.macros[0, 1:] if warm else torch.zeros(5, 2)
        assert torch.equal(starts[1][:-1], left)
        assert not starts[1][-1].any()


# Converging plans that are reused


def test_a_converging_plan_is_served_block_by_block_and_its_rest_warms_the_next_search():
    watched = Watched(settings(guided_decisions=0, final_reuse_decisions=3, low_plan_steps=5))
    steps = watched.drive(4)
    assert [int(s.decision.stage[0]) for s in steps] == [CONVERGE, REUSE, REUSE, CONVERGE]
    rest = steps[0].memory.plan[0]
    for served, block in zip(steps[1:3], rest, strict=False):
        np.testing.assert_array_equal(served.chunk[0, 0], block.clamp(-1, 1))
    second = watched.starts("converge")[1]
    assert torch.equal(second[:2], rest[2:4])
    assert not second[2:].any()


def test_guidance_ends_the_reuse_of_a_converging_plan():
    controller = ThreeStage(KEY_MODEL, KeyActions(), SOKOBAN)
    steps = drive(controller, [[0.0, 0.0]], [[4.0, 3.0]], 2)
    assert int(steps[0].memory.reuse[0]) == 3
    assert int(steps[1].memory.reuse[0]) == 0


# What candidates look like


def test_bounds_choose_the_proposal():
    kinds = {"none": Gaussian, "clip": Gaussian, "tanh": Squashed}
    for bounds, kind in kinds.items():
        watched = Watched(settings(guided_decisions=0, bounds=bounds, low_std=0.5))
        watched.drive(1)
        usual = watched.asked[0].usual
        assert isinstance(usual, kind)
        inner = usual.inner if isinstance(usual, Squashed) else usual
        assert (inner.std == 0.5).all()
        assert (inner.box is not None) == (bounds == "clip")
        assert inner.mixing is None


@pytest.mark.parametrize("bounds", ["clip", "tanh"])
def test_bounded_plans_are_executed_as_planned(bounds: str):
    """The world clips what leaves its box. Bounded candidates never do, so imagination and execution agree."""
    controller = ThreeStage(IntegratorModel(), PlainActions(), settings(guided_decisions=0, bounds=bounds, low_std=3.0))
    for step in drive(controller, [[0.0, 0.0]], [[40.0, 30.0]], 3):
        assert np.abs(step.memory.plan[0, :-1].numpy()).max() <= 1.0


def test_correlated_noise_is_asked_for_by_its_setting():
    watched = Watched(settings(guided_decisions=0, correlation=0.5))
    watched.drive(1)
    usual = watched.asked[0].usual
    assert isinstance(usual, Gaussian)
    assert usual.mixing is not None
    assert float((usual.mixing.T @ usual.mixing)[0, 2]) == pytest.approx(0.5), "the same dimension one step later"


def test_macro_actions_are_searched_with_their_own_deviation():
    watched = Watched(settings(high_std=0.25))
    watched.drive(1)
    usual = watched.asked[0].usual
    assert watched.asked[0].stage == "route"
    assert isinstance(usual, Gaussian)
    assert (usual.std == 0.25).all()


def test_soft_minima_have_the_temperature_and_the_share_of_the_mean_that_the_settings_say():
    """The best cost of the last iteration is theirs, of the distances from what it predicts to the goal."""
    for tau, weight in ((0.1, 0.01), (2.0, 0.0), (0.5, 3.0)):
        soft = settings(final_cost="soft_minimum", soft_minimum_tau=tau, soft_minimum_path_weight=weight)
        assert soft.reduction("terminal") == Terminal()
        step = drive(
            ThreeStage(IntegratorModel(), PlainActions(), replace(soft, guided_decisions=0)), [[0, 0]], [[6, 3]], 1
        )[0]
        distances = np.square(step.decision.predicted - np.float32([6, 3])).sum(-1)
        expected = SoftMinimum(tau, weight)(torch.from_numpy(distances)[:, None])
        np.testing.assert_allclose(step.decision.best_cost[:, -1:], expected, rtol=1e-5)


# Batches whose tasks stand at different points


def test_tasks_in_different_stages_decide_as_they_would_alone():
    controller = ThreeStage(IntegratorModel(), PlainActions(), settings(low_search=GOOD, history=2))
    goals, starts = np.float32([[6, 3], [-2, 1], [0, 5]]), np.float32([[0, 0], [1, 1], [2, 2]])
    memory = controller.start(Goal(latent=goals), [4, 0, 7], 1)
    chunk, memory, _ = controller.act(memory, see(starts))
    memory = replace(memory, guided=torch.tensor([1, 6, 2]), progress=torch.tensor([1, 0, 3]))
    seen = see(starts + chunk[:, 0], chunk)
    together, after, decision = controller.act(memory, seen)
    assert decision.stage.tolist() == [REFINE, CONVERGE, REFINE]
    assert decision.routed.tolist() == [False, False, True]
    for costs in (decision.route_best_cost, decision.route_mean_cost):
        assert np.isnan(costs).all(1).tolist() == [True, True, False], "whose route it was"
    for row in range(3):
        alone, mine, _ = controller.act(memory.take(np.array([row])), see(seen.proprio["z"][[row]], chunk[[row]]))
        np.testing.assert_array_equal(alone[0], together[row])
        assert torch.equal(mine.subgoal.latent[0], after.subgoal.latent[row])


# The trace


def test_a_decision_records_what_was_seen_thought_and_predicted():
    controller = ThreeStage(IntegratorModel(), PlainActions(), settings(low_search=GOOD, guided_decisions=1))
    first, second = drive(controller, [[0.0, 1.0]], [[6.0, 3.0]], 2)
    assert first.decision.tasks.tolist() == [0]
    np.testing.assert_array_equal(first.decision.latent, first.z)
    assert first.decision.distance_low.tolist() == [40.0]
    assert first.decision.distance_high.tolist() == [40.0]
    assert first.decision.best_cost.shape == first.decision.mean_cost.shape == (1, 10)
    refined = first.decision.predicted[0]
    assert not np.isnan(refined[:3]).any()
    assert np.isnan(refined[3:]).all(), "refinement predicts no further than its window"
    assert not np.isnan(second.decision.predicted).any()
    np.testing.assert_array_equal(second.decision.subgoal, first.decision.subgoal)


def test_a_route_search_records_its_costs_and_other_decisions_record_none():
    """A route of one step costs its distance, and twice that where its mean is added: the same search, dearer."""
    found = []
    for weight in (0.0, 1.0):
        routed = settings(high_plan_steps=1, route_cost="soft_minimum", soft_minimum_path_weight=weight)
        first, second = drive(ThreeStage(IntegratorModel(), PlainActions(), routed), [[0.0, 1.0]], [[6.0, 3.0]], 2)
        assert (first.decision.route_best_cost < first.decision.route_mean_cost).all()
        assert first.decision.route_best_cost[0, 0] <= (1 + weight) * first.decision.distance_high, "of staying"
        assert np.isnan(second.decision.route_best_cost).all()
        assert np.isnan(second.decision.route_mean_cost).all()
        found.append(np.stack([first.decision.route_best_cost, first.decision.route_mean_cost]))
    np.testing.assert_allclose(found[1], 2 * found[0], rtol=1e-4)


def test_the_low_level_planner_has_no_route():
    controller = ThreeStage(IntegratorModel(), PlainActions(), settings(guided_decisions=0))
    (step,) = drive(controller, [[0.0, 1.0]], [[6.0, 3.0]], 1)
    assert np.isnan(step.decision.subgoal).all()
    assert np.isnan(step.decision.route).all()
    assert step.decision.stage.tolist() == [CONVERGE]


# Settings that cannot work


def test_guidance_needs_a_plan_as_long_as_a_high_step():
    with pytest.raises(RecipeError, match=r"window=3 low steps.*low_plan_steps.*found 2"):
        ThreeStage(IntegratorModel(), PlainActions(), settings(low_plan_steps=2))
    ThreeStage(IntegratorModel(), PlainActions(), settings(low_plan_steps=2, guided_decisions=0))


@pytest.mark.parametrize("lasts", [0, 4])
def test_a_subgoal_lasts_no_longer_than_its_window(lasts: int):
    with pytest.raises(RecipeError, match=f"route_every_decisions from 1 to 3 or None, found {lasts}"):
        ThreeStage(IntegratorModel(), PlainActions(), settings(route_every_decisions=lasts))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"low_plan_steps": 0}, "at least 1"),
        ({"tile_rows": 0}, "at least 1"),
        ({"guided_decisions": -1}, "at least 0"),
        ({"converge_within_high_steps": -3}, "converge_within_high_steps must be at least 0, found -3"),
        ({"discrete_smoothing": -0.1}, "discrete_smoothing must be at least 0"),
        ({"discrete_escape": float("inf")}, "discrete_escape must be at least 0, found inf"),
        ({"soft_minimum_path_weight": -0.01}, "soft_minimum_path_weight must be at least 0"),
        ({"soft_minimum_tau": 0.0}, "soft_minimum_tau must be above 0"),
        ({"low_std": -1.0}, "low_std must be above 0, found -1"),
        ({"high_std": float("nan")}, "high_std must be above 0, found nan"),
        ({"correlation": 1.0}, r"correlation must be in \[0, 1\)"),
        ({"discrete_momentum": 5}, r"discrete_momentum must be in \[0, 1\), found 5"),
        ({"low_plan_steps": 2, "final_reuse_decisions": 3}, "final_reuse_decisions=3"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, object], words: str):
    with pytest.raises(RecipeError, match=words):
        settings(**changes)
