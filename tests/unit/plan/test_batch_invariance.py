"""A task's decisions have the same bits however many other tasks are planned with it, in whatever order."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import zoo_toy

from dualwm.data.normalize import Normalizer, Scale
from dualwm.evaluate.needs import Controller
from dualwm.model.dual import HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.transformer import TransformerSize
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.recipes import find_recipe
from dualwm.records import Goal, Observation
from dualwm.zoo.dual_wm_method import DualWMMethod
from dualwm.zoo.method import Acting

DECISIONS = 3
SIZE = TransformerSize(depth=1, heads=2, head_width=8, hidden=32)

PLAIN = PlannerSettings(
    low_search=Budget(candidates=6, iterations=2, elites=2),
    high_search=Budget(candidates=5, iterations=2, elites=2),
    low_plan_steps=4,
    high_plan_steps=3,
    guided_decisions=2,
    history=2,
    tile_rows=128,
)
EVERYTHING = PlannerSettings(
    low_search=PLAIN.low_search,
    high_search=PLAIN.high_search,
    low_plan_steps=4,
    high_plan_steps=3,
    guided_decisions=2,
    history=2,
    route_every_decisions=1,
    warm_start_route=True,
    route_cost="soft_minimum",
    final_cost="soft_minimum",
    correlation=0.6,
    bounds="tanh",
    tile_rows=128,
)


def tiny(action_dim: int = 2) -> DualWMMethod:
    return DualWMMethod(
        model=ModelConfig(
            frame_skip=2,
            window=3,
            action_dim=action_dim,
            low=LowConfig(
                encoder=ConvEncoder(cameras=(("front", 16, 16),), channels=(8, 16), projector_hidden=32),
                width=16,
                predictor=SIZE,
                head_hidden=32,
                action_hidden=32,
            ),
            high=HighConfig(
                width=16,
                window_encoder=TransformerWindow(size=SIZE),
                macro_encoder=VariationalMacro(macro_width=4, width=16, size=SIZE),
                predictor=SIZE,
            ),
        ),
        low_stage=zoo_toy.SETTINGS,
        high_stage=zoo_toy.SETTINGS,
    )


@dataclass(frozen=True)
class Case:
    """A planner over a random model, and what its tasks will see."""

    controller: Controller
    side: int
    tasks: int

    @staticmethod
    def make(method: DualWMMethod, settings: PlannerSettings, tasks: int, keys: bool = False) -> "Case":
        width = method.action_dim
        acting = Acting(
            action_dim=width,
            action_low=(-1.0,),
            action_high=(1.0,),
            discrete_values=width if keys else None,
            normalizer=Normalizer(scales={"action": Scale(mean=(0.0,) * width, std=(1.0,) * width)}),
        )
        ((_, side, _),) = method.sees.cameras
        return Case(method.controller(zoo_toy.stirred(method), settings, acting), side, tasks)

    def run(self, tasks: Sequence[int], finishers: Sequence[int] = ()) -> dict[int, list[np.ndarray]]:
        """Everything decided for each task; `finishers` leave after the first decision."""
        rows = np.array(tasks)
        memory = self.controller.start(Goal(frames={"front": self._frames(99)[rows]}), tasks, seed=7)
        told: dict[int, list[np.ndarray]] = {task: [] for task in tasks}
        chunk = None
        for number in range(DECISIONS):
            observation = Observation(frames={"front": self._frames(number)[rows]}, executed=chunk)
            chunk, memory, decision = self.controller.act(memory, observation)
            assert np.isfinite(decision.best_cost).all(), "NaN would equal NaN"
            values: list[Any] = [chunk, memory.plan.numpy(), memory.macros.numpy(), *vars(decision).values()]
            for row, task in enumerate(rows):
                told[int(task)] += [np.asarray(value)[row] for value in values]
            if number == 0 and len(finishers):
                stay = ~np.isin(rows, finishers)
                rows, chunk, memory = rows[stay], chunk[stay], memory.take(stay)
        return told

    def _frames(self, number: int) -> np.ndarray:
        shape = (self.tasks, self.side, self.side, 3)
        return np.random.default_rng(number).integers(0, 256, shape, dtype=np.uint8)


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(first, second, strict=True))


def differences(case: Case) -> list[str]:
    """What differs when parts of all tasks are planned, in other orders or without those that finished early."""
    shuffled = np.random.default_rng(0).permutation(case.tasks).tolist()
    whole, found = case.run(range(case.tasks)), list[str]()
    for tasks in ([5], [case.tasks - 1, 0, 33], list(range(17)), shuffled):
        part = case.run(tasks)
        found += [f"{len(tasks)} tasks: task {task}" for task in tasks if not same(part[task], whole[task])]
    leaving = list(range(0, case.tasks, 3))
    rest = case.run(range(case.tasks), leaving)
    found += [f"left behind: task {t}" for t in rest if t not in leaving and not same(rest[t], whole[t])]
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_decisions_do_not_depend_on_batch_size_order_or_early_finishers(threads: int):
    """In float32 and bfloat16, at tiny sizes and a laptop's, in a process of its own: there two threads can be told to
    wait without spinning."""
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    paths = os.pathsep.join([str(Path(zoo_toy.__file__).parent), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, __file__], env={**os.environ, **settings, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"{threads} threads, differences: 0\n"), done.stdout + done.stderr


@pytest.mark.parametrize("keys", [False, True], ids=["plain", "keys"])
def test_neither_do_those_of_the_paper_s_search_and_of_keys(keys: bool):
    case = Case.make(tiny(5 if keys else 2), PLAIN, 40, keys)
    whole = case.run(range(40))
    for tasks in ([5], [30, 0, 13], list(range(39, -1, -1))):
        part = case.run(tasks)
        assert all(same(part[task], whole[task]) for task in tasks)


def test_a_task_is_decided_by_its_number_and_the_seed():
    whole = Case.make(tiny(), PLAIN, 4).run(range(4))
    assert not same(whole[0], whole[1])


def main() -> None:
    """Both sizes in both precisions."""
    threads, count, laptop = torch.get_num_threads(), 0, find_recipe("tworoom/laptop")
    smaller = {**laptop.planner["100"], "low_search": "6/2/2", "high_search": "5/2/2", "guided_decisions": 2}
    as_on_a_laptop = laptop.method.settings(smaller, "the laptop's planner")
    for size, method, settings, tasks in (
        ("tiny", tiny(), EVERYTHING, 200),
        ("laptop", laptop.method, as_on_a_laptop, 48),
    ):
        for precision in ("float32", "bfloat16"):
            found = differences(Case.make(method, replace(settings, precision=precision), tasks))
            print(*(f"{size}, {precision}, {threads} threads, {words}\n" for words in found), sep="", end="")
            count += len(found)
    print(f"{threads} threads, differences: {count}")


if __name__ == "__main__":
    main()
