"""Laws of search and planning that hold for every task, seed and goal."""

from dataclasses import replace

import numpy as np
import torch
from hypothesis import given, settings, strategies as st
from toys import BowlCost, IntegratorModel, PlainActions, see

from dualwm.plan.controller import ThreeStage
from dualwm.plan.costs import SoftMinimum
from dualwm.plan.noise import Noise
from dualwm.plan.proposals import Box, Categorical, Gaussian, Squashed
from dualwm.plan.search import Budget, search
from dualwm.plan.settings import PlannerSettings
from dualwm.plan.tiles import Tiled
from dualwm.records import Goal

LAWFUL = settings(max_examples=25, deadline=None, derandomize=True)
SMALL = Budget(candidates=24, iterations=4, elites=4)

seeds = st.integers(0, 2**31 - 1)
task_lists = st.lists(st.integers(0, 9999), min_size=1, max_size=6, unique=True)


def seeded(seed: int, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def planned(bottom: torch.Tensor, mean: torch.Tensor, tasks: list[int], seed: int) -> torch.Tensor:
    noise = Noise(seed, np.array(tasks), np.zeros(len(tasks), np.int64), 3)
    return search(BowlCost(bottom), Gaussian(mean, torch.ones_like(mean)), SMALL, noise).plan


@LAWFUL
@given(task_lists, seeds, st.integers(-8, 8))
def test_shifting_bowl_and_proposal_shifts_the_plan(tasks, seed, shift):
    bottom, mean = seeded(seed, len(tasks), 2, 3), torch.zeros(len(tasks), 2, 3)
    moved = planned(bottom + shift, mean + shift, tasks, seed)
    torch.testing.assert_close(moved, planned(bottom, mean, tasks, seed) + shift, rtol=0, atol=1e-3)


@LAWFUL
@given(task_lists, seeds, st.randoms(use_true_random=False))
def test_permuting_tasks_permutes_plans(tasks, seed, random):
    order = list(range(len(tasks)))
    random.shuffle(order)
    bottom, mean = seeded(seed, len(tasks), 2, 3), torch.zeros(len(tasks), 2, 3)
    plans = planned(bottom, mean, tasks, seed)
    assert torch.equal(planned(bottom[order], mean, [tasks[i] for i in order], seed), plans[order])


@LAWFUL
@given(task_lists, seeds, st.integers(0, 5))
def test_a_tasks_plan_does_not_depend_on_its_batch_mates(tasks, seed, row):
    row %= len(tasks)
    bottom, mean = seeded(seed, len(tasks), 2, 3), torch.zeros(len(tasks), 2, 3)
    alone = planned(bottom[[row]], mean[[row]], [tasks[row]], seed)
    assert torch.equal(alone[0], planned(bottom, mean, tasks, seed)[row])


@LAWFUL
@given(st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.floats(0.1, 4.0), seeds)
def test_bounded_candidates_never_leave_their_box(below, above, std, seed):
    box = Box(torch.full((2,), -below), torch.full((2,), above))
    noise = Noise(seed, np.array([0]), np.array([0]), 3)
    mean = 3 * seeded(seed, 1, 3, 2)
    inner = Gaussian(mean, torch.full_like(mean, std))
    for proposal in (Gaussian(mean, inner.std, box=box), Squashed(inner, box)):
        for x in (proposal.sample(20, noise, 0), proposal.plan):
            assert (x >= box.low).all()
            assert (x <= box.high).all()


@LAWFUL
@given(
    st.lists(st.integers(-1, 4), min_size=1, max_size=6),
    st.floats(0.01, 0.5),
    st.floats(0, 0.5),
    st.floats(0, 1),
    seeds,
)
def test_key_plans_are_one_hot_and_no_missing_row_favours_a_key(warm, escape, smoothing, momentum, seed):
    start = Categorical.start(torch.tensor(warm)[None, :, None], 5, escape, smoothing, momentum)
    noise = Noise(seed, np.array([0]), np.array([0]), 3)
    candidates = start.sample(9, noise, 0)
    rows = candidates.unflatten(-1, (1, 5))
    assert ((rows == 0) | (rows == 1)).all()
    assert (rows.sum(-1) == 1).all()
    after = start.refit(candidates[:, 1:4])
    for proposal in (start, after):
        torch.testing.assert_close(proposal.probabilities.sum(-1), torch.ones(1, len(warm), 1))
    for row, index in enumerate(warm):
        likely = start.probabilities[0, row, 0]
        assert torch.equal(likely, torch.full((5,), 0.2)) if index < 0 else int(likely.argmax()) == index


@LAWFUL
@given(st.integers(1, 12), seeds)
def test_the_soft_minimum_lies_between_the_smallest_and_the_mean_distance(n, seed):
    distances = 30 * seeded(seed, 1, 7, n).abs()
    soft = SoftMinimum(path_weight=0.0)(distances)
    assert (soft >= distances.amin(-1) - 1e-4).all()
    assert (soft <= distances.mean(-1) + 1e-4).all()
    assert (soft <= distances.amin(-1) + 0.1 * float(np.log(n)) + 1e-4).all()


@LAWFUL
@given(st.integers(1, 9), st.integers(1, 30), seeds)
def test_tiles_change_nothing_but_rounding(rows, count, seed):
    x, weight = seeded(seed, count, 4), seeded(seed, 4, 5)
    torch.testing.assert_close(Tiled(lambda x: x @ weight, rows)(x), x @ weight)


FEW = settings(LAWFUL, max_examples=6)
PLANNER = PlannerSettings(low_search=SMALL, high_search=SMALL, low_plan_steps=4, high_plan_steps=2, guided_decisions=2)


@FEW
@given(task_lists, seeds, st.randoms(use_true_random=False), st.booleans())
def test_closed_loop_decisions_do_not_depend_on_batch_mates_order_or_early_finishers(tasks, seed, random, smooth):
    """Over the integrator, whose arithmetic is exact: what remains is the planner's own bookkeeping."""
    smoothed = replace(PLANNER, correlation=0.5, bounds="clip")
    controller = ThreeStage(IntegratorModel(), PlainActions(), smoothed if smooth else PLANNER)
    order = list(range(len(tasks)))
    random.shuffle(order)
    starts, goals = (seeded(seed + i, len(tasks), 2).numpy() for i in (0, 1))

    def act(rows: list[int], leave: list[int]) -> dict[int, np.ndarray]:
        memory = controller.start(Goal(latent=goals[rows]), [tasks[r] for r in rows], seed)
        z, chunk, told = starts[rows], None, {r: [] for r in rows}
        for number in range(3):
            chunk, memory, _ = controller.act(memory, see(z, chunk))
            for i, r in enumerate(rows):
                told[r].append(chunk[i])
            z = z + chunk[:, 0]
            if number == 0 and leave:
                stay = np.array([r not in leave for r in rows])
                rows, z, chunk, memory = [r for r in rows if r not in leave], z[stay], chunk[stay], memory.take(stay)
        return {r: np.array(told[r]) for r in rows}

    whole = act(list(range(len(tasks))), [])
    for rows, leave in ((order, []), (order, order[1::2]), (order[:1], [])):
        for r, chunks in act(rows, leave).items():
            assert np.array_equal(chunks, whole[r])


@FEW
@given(seeds)
def test_equal_seeds_give_equal_plans_and_others_do_not(seed):
    goal, z = np.float32([[4, 3]]), np.zeros((1, 2), np.float32)
    controller = ThreeStage(IntegratorModel(), PlainActions(), PLANNER)
    first, again, other = (
        controller.act(controller.start(Goal(latent=goal), [0], s), see(z))[0] for s in (seed, seed, seed + 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
