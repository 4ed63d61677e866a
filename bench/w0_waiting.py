"""W0: what a user waits for, planning per environment step: the shipped system against the published configuration."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.cases import ROOT, Case, Options, Ratio, Side, Workload
from bench.models import low_sizes, recipe_of
from bench.systems import the_system
from dualwm.envs.base import get_world
from dualwm.records import Goal
from dualwm.zoo.system import load

DECISIONS = 25
"""A whole budget of 125 environment steps, five to a decision."""
PEER = {"candidates": 300, "iterations": 30, "elites": 30, "horizon": 5}
"""The published search. It plans five blocks of five environment steps and executes all of them."""


def cases(options: Options) -> Sequence[Case]:
    """A lone task, and ten in a batch."""
    return [_case(tasks, options) for tasks in (1, 10)]


def _case(tasks: int, options: Options) -> Case:
    decisions = 2 if options.quick else DECISIONS
    ours = [
        Side(
            name=f"ours {precision}",
            call="bench.w0_waiting:ours",
            args={"tasks": tasks, "decisions": decisions, "precision": precision},
        )
        for precision in ("float32", "bfloat16")
    ]
    peers = [
        Side(
            name=f"peer {precision}",
            call="bench.peers.waiting:search",
            args=_peer_args(tasks, options) | {"precision": precision},
            peer=True,
        )
        for precision in ("float32", "bfloat16")
    ]
    goals = (
        Ratio(ours="ours float32", other="peer float32", at_least=20.0),
        Ratio(ours="ours float32", other="peer bfloat16"),
        Ratio(ours="ours bfloat16", other="peer bfloat16"),
    )
    name = "1 task" if tasks == 1 else f"{tasks} tasks"
    return Case(name=name, unit="environment step", sides=[*ours, *peers], goals=goals, repeats=3)


def _peer_args(tasks: int, options: Options) -> dict[str, Any]:
    low = recipe_of("paper").method.model.low
    timed = 1 if options.quick else PEER["iterations"] if tasks == 1 else 3
    search = {**PEER, "candidates": 32 if options.quick else PEER["candidates"], "timed_iterations": timed}
    quoted = json.loads((ROOT / "results" / "quoted" / "tworoom.json").read_text("utf-8"))
    success = {"success_percent": quoted["success_percent"]["LeWM"]["100"], "success_from": quoted["source"]}
    sizes = low_sizes(recipe_of("paper").method)
    return {**search, "tasks": tasks, "sizes": sizes, "projector_hidden": low.encoder.projector_hidden, "told": success}


def ours(tasks: int, decisions: int, precision: str) -> Mapping[str, Any]:
    """Seconds of planning per environment step of a task, over whole episodes walked from cross-room starts."""
    name, what = the_system()
    system, world = load(name), get_world("tworoom")
    planner = system.controller(precision=precision)
    draw = np.random.default_rng(0)
    starts = np.stack([draw.uniform(30, 90, tasks), draw.uniform(80, 190, tasks)], 1)
    goals = np.stack([draw.uniform(135, 195, tasks), draw.uniform(80, 190, tasks)], 1)
    simulation = world.simulate(starts, list(range(tasks)), world.variants[0])
    memory = planner.start(Goal(frames=system.observe(goals).frames), range(tasks), 0)
    observation, spent, steps = system.observe(starts), 0.0, 0
    planner.act(memory, observation)  # warm
    for _ in range(decisions):
        began = time.perf_counter()
        chunk, memory, _ = planner.act(memory, observation)
        spent += time.perf_counter() - began
        steps += chunk.shape[1]
        for action in chunk.swapaxes(0, 1):
            simulation.step(action)
        observation = _seen(system.observe(simulation.states), chunk)
    return {"seconds": spent / (steps * tasks), "system": what, **_success(name)}


def _seen(observation: Any, executed: Any) -> Any:
    return type(observation)(frames=observation.frames, proprio=observation.proprio, executed=executed)


def _success(name: str) -> dict[str, Any]:
    """What the committed results say of the shipped system at offset 100."""
    file = ROOT / "results" / "tworoom" / "heldout-100" / "dual-wm" / "outcomes.jsonl"
    if name != "tworoom" or not file.exists():
        return {}
    outcomes = [json.loads(line)["success"] for line in file.read_text("utf-8").splitlines()]
    return {"success_percent": 100 * float(np.mean(outcomes)), "success_from": str(file.relative_to(ROOT))}


WORKLOAD = Workload(
    name="W0",
    title="What a user waits for",
    cases=cases,
    notes=(
        "Planning seconds per environment step and task. Ours: the shipped TwoRoom system with its shipped search, "
        "over whole episodes (routes, guided and converging decisions, pictures encoded), nobody leaving early. The "
        "peer: the published architecture at random weights with its published search, 300 candidates, 30 iterations, "
        "5 blocks of 5 environment steps, all executed before it plans again. With ten tasks its 30 iterations are "
        "timed over 3."
    ),
)
