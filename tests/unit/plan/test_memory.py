"""A controller's memory: rows can be taken and put back, and nothing is changed in place."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from toys import IntegratorModel, PlainActions, see

from dualwm.plan.controller import ThreeStage
from dualwm.plan.memory import Memory, put_rows, take_rows
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.records import Goal
from dualwm.states import State

SMALL = Budget(candidates=8, iterations=2, elites=2)


def memory() -> Memory:
    controller = ThreeStage(IntegratorModel(), PlainActions(), PlannerSettings(low_search=SMALL, high_search=SMALL))
    goals, starts = np.arange(8, dtype=np.float32).reshape(4, 2), np.zeros((4, 2), np.float32)
    return controller.act(controller.start(Goal(latent=goals), [3, 1, 4, 9], 5), see(starts))[1]


def equal(first: Memory, second: Memory) -> bool:
    return all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(Memory))


def same(x: object, y: object) -> bool:
    if isinstance(x, State):
        assert isinstance(y, State)
        return same(x.latent, y.latent)
    return bool(np.array_equal(np.asarray(x), np.asarray(y), equal_nan=np.asarray(x).dtype.kind == "f"))


def test_taking_rows_keeps_their_order_and_what_is_shared():
    whole = memory()
    part = whole.take(torch.tensor([2, 0]))
    assert part.tasks.tolist() == [4, 3]
    assert part.seed == whole.seed
    assert torch.equal(part.goal_L.latent, whole.goal_L.latent[[2, 0]])
    assert torch.equal(part.plan[:, :-1], whole.plan[[2, 0], :-1])


@pytest.mark.parametrize("mask", [np.array([True, False, True, False]), torch.tensor([True, False, True, False])])
def test_a_mask_takes_where_it_is_true(mask: np.ndarray | torch.Tensor):
    assert equal(memory().take(mask), memory().take(np.array([0, 2])))


def test_taking_all_and_putting_back_what_was_taken_change_nothing():
    whole = memory()
    assert equal(whole.take(np.arange(4)), whole)
    rows = torch.tensor([3, 1])
    assert equal(whole.put(rows, whole.take(rows)), whole)


def test_putting_rows_changes_these_and_leaves_the_original_alone():
    whole, rows = memory(), torch.tensor([3, 1])
    before = memory()
    part = whole.take(rows)
    changed = whole.put(rows, replace(part, guided=part.guided + 5, subgoal=State(part.subgoal.latent + 1)))
    assert changed.guided.tolist() == [1, 6, 1, 6]
    assert torch.equal(changed.subgoal.latent[[0, 2]], whole.subgoal.latent[[0, 2]])
    assert torch.equal(changed.subgoal.latent[rows], whole.subgoal.latent[rows] + 1)
    assert equal(whole, before)


def test_every_part_of_a_state_travels():
    state = State(torch.arange(4.0)[:, None], torch.arange(4.0)[:, None, None], torch.arange(4.0)[:, None])
    rows = torch.tensor([2, 1])
    part = take_rows(state, rows)
    assert [x.flatten().tolist() for x in (part.latent, part.tokens, part.proprio)] == [[2, 1]] * 3
    put = put_rows(state, rows, part.map(lambda x: x + 10))
    assert [x.flatten().tolist() for x in (put.latent, put.tokens, put.proprio)] == [[0, 11, 12, 3]] * 3
