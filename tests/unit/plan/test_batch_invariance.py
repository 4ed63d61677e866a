"""A task's decisions have the same bits however many other tasks are planned with it, in whatever order."""

import copy
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import toys
from toys import KeyActions, PlainActions

from dualwm.model.dual import DualWM, HighConfig, LowConfig, ModelConfig
from dualwm.model.encoder import ConvEncoder
from dualwm.model.macro import VariationalMacro
from dualwm.model.window_encoder import TransformerWindow
from dualwm.nets.batchnorm import batchnorms
from dualwm.nets.transformer import TransformerSize
from dualwm.plan.controller import ThreeStage
from dualwm.plan.search import Budget
from dualwm.plan.settings import PlannerSettings
from dualwm.plan.tiles import Tiled
from dualwm.records import Goal, Observation
from dualwm.states import State

TASKS, SIDE, DECISIONS = 200, 16, 3
SIZE = TransformerSize(depth=1, heads=2, head_width=8, hidden=32)

PLAIN = PlannerSettings(
    low_search=Budget(candidates=6, iterations=2, elites=2),
    high_search=Budget(candidates=5, iterations=2, elites=2),
    low_plan_steps=4,
    high_plan_steps=3,
    guided_decisions=2,
    history=2,
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
)


def random_model(action_dim: int) -> DualWM:
    torch.manual_seed(0)
    encoder = ConvEncoder(cameras=(("front", SIDE, SIDE),), channels=(8, 16), projector_hidden=32)
    model = DualWM(
        ModelConfig(
            frame_skip=2,
            window=3,
            action_dim=action_dim,
            low=LowConfig(encoder=encoder, width=16, predictor=SIZE, head_hidden=32, action_hidden=32),
            high=HighConfig(
                width=16,
                window_encoder=TransformerWindow(size=SIZE),
                macro_encoder=VariationalMacro(macro_width=4, width=16, size=SIZE),
                predictor=SIZE,
            ),
        )
    )
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.1 * torch.randn_like(p))
        for norm in batchnorms(model):
            norm.running_mean.normal_()
            norm.running_var.uniform_(0.5, 2)
    return model.eval().requires_grad_(False)


class TiledModel:
    """A DualWM's callables in row tiles."""

    def __init__(self, model: DualWM, dtype: torch.dtype) -> None:
        self.window, self.low_history, self.macro_width = 3, model.config.low.history, 4
        self.device, self.dtype = torch.device("cpu"), dtype
        net = copy.deepcopy(model).to(dtype)
        self._frames = Tiled(lambda frames: State(net.encode({"front": frames}).float()), 8)
        self._lift = Tiled(lambda w: State(net.lift(w.latent.to(dtype)).float()), 128)
        self._low = Tiled(lambda z, a: State(net.low.rollout(z.latent.to(dtype), a.to(dtype)).float()), 128)
        self._high = Tiled(lambda z, u: State(net.high.rollout(z.latent.to(dtype), u.to(dtype)).float()), 128)

    def encode(self, observation: Observation) -> State:
        return self._frames(torch.from_numpy(observation.frames["front"]))

    def encode_goal(self, goal: Goal) -> State:
        assert goal.frames is not None
        return self._frames(torch.from_numpy(goal.frames["front"]))

    def lift(self, window: State) -> State:
        return self._lift(window)

    def roll_low(self, context: State, actions: torch.Tensor) -> State:
        return self._low(context, actions)

    def roll_high(self, z_H: State, macros: torch.Tensor) -> State:
        return self._high(z_H, macros)


@dataclass(frozen=True)
class Case:
    """A planner over a random model, and what 200 tasks will see."""

    controller: ThreeStage

    @staticmethod
    def make(settings: PlannerSettings, dtype: torch.dtype, keys: bool = False) -> "Case":
        actions = KeyActions(frame_skip=2) if keys else PlainActions(frame_skip=2)
        return Case(ThreeStage(TiledModel(random_model(5 if keys else 2), dtype), actions, settings))

    def run(self, tasks: Sequence[int], finishers: Sequence[int] = ()) -> dict[int, list[np.ndarray]]:
        """Everything decided for each task; `finishers` leave after the first decision."""
        rows = np.array(tasks)
        memory = self.controller.start(Goal(frames={"front": _frames(99)[rows]}), tasks, seed=7)
        told: dict[int, list[np.ndarray]] = {task: [] for task in tasks}
        chunk = None
        for number in range(DECISIONS):
            observation = Observation(frames={"front": _frames(number)[rows]}, executed=chunk)
            chunk, memory, decision = self.controller.act(memory, observation)
            values: list[Any] = [chunk, memory.plan.numpy(), memory.macros.numpy(), *vars(decision).values()]
            for row, task in enumerate(rows):
                told[int(task)] += [np.asarray(value)[row] for value in values]
            if number == 0 and len(finishers):
                stay = ~np.isin(rows, finishers)
                rows, chunk, memory = rows[stay], chunk[stay], memory.take(stay)
        return told


def _frames(number: int) -> np.ndarray:
    return np.random.default_rng(number).integers(0, 256, (TASKS, SIDE, SIDE, 3), dtype=np.uint8)


def same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(first, second, strict=True))


SHUFFLED = np.random.default_rng(0).permutation(TASKS).tolist()
BATCHES = {"1": [5], "3": [150, 0, 63], "17": list(range(17)), "200, shuffled": SHUFFLED}


def differences(dtype: torch.dtype) -> list[str]:
    """What differs when parts of 200 tasks are planned, in other orders or without those that finished early."""
    case = Case.make(EVERYTHING, dtype)
    whole, found = case.run(range(TASKS)), list[str]()
    for name, tasks in BATCHES.items():
        part = case.run(tasks)
        found += [f"{name} tasks: task {task}" for task in tasks if not same(part[task], whole[task])]
    leaving = list(range(0, TASKS, 3))
    rest = case.run(range(TASKS), leaving)
    found += [f"left behind: task {t}" for t in range(TASKS) if t not in leaving and not same(rest[t], whole[t])]
    return [f"{dtype}, {torch.get_num_threads()} threads, {words}" for words in found]


@pytest.mark.parametrize("threads", [1, 2])
def test_decisions_do_not_depend_on_batch_size_order_or_early_finishers(threads: int):
    """In float32 and bfloat16, in a process of its own: there two threads can be told to wait without spinning."""
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "passive"}
    paths = os.pathsep.join([str(Path(toys.__file__).parent), os.environ["PYTHONPATH"]])
    done = subprocess.run(
        [sys.executable, __file__], env={**os.environ, **settings, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, f"{threads} threads, differences: 0\n"), done.stdout + done.stderr


@pytest.mark.parametrize("keys", [False, True], ids=["plain", "keys"])
def test_neither_do_those_of_the_paper_s_search_and_of_keys(keys: bool):
    case = Case.make(PLAIN, torch.float32, keys)
    whole = case.run(range(40))
    for tasks in ([5], [30, 0, 13], list(range(39, -1, -1))):
        part = case.run(tasks)
        assert all(same(part[task], whole[task]) for task in tasks)


def test_a_task_is_decided_by_its_number_and_the_seed():
    case = Case.make(PLAIN, torch.float32)
    whole = case.run(range(4))
    assert not same(whole[0], whole[1])


if __name__ == "__main__":
    everything = [words for dtype in (torch.float32, torch.bfloat16) for words in differences(dtype)]
    print(*everything, f"{torch.get_num_threads()} threads, differences: {len(everything)}", sep="\n")
