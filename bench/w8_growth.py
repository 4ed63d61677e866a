"""W8: how time and memory grow with candidates, horizon, tasks in the batch, and the size of the data set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench import plans, w4_reading
from bench.cases import WORK, Case, Growth, Options, Side, Workload
from bench.w1_paper import for_peer
from bench.w1b_laptop import SEARCH, SHIPPED
from dualwm.data.collect import collect
from dualwm.data.store import Store
from dualwm.data.windows import Windows
from dualwm.envs.base import episodes, get_world

AXES = {
    "candidates": (64, 128, 256, 512, 1024, 2048),
    "horizon": (2, 4, 8, 16, 32),
    "tasks": (1, 4, 16, 64, 256),
}
EPISODES = (20, 80, 320, 1280)
SIZE = 64


def cases(options: Options) -> Sequence[Case]:
    """Planning along three axes, reading along one."""
    made = [_planning(axis, xs[:2] if options.quick else xs, options) for axis, xs in AXES.items()]
    sizes = EPISODES[:2] if options.quick else EPISODES
    sides = [
        Side(name=f"{what}, {count} episodes", call=f"bench.w8_growth:{call}", args={"count": count}, once=once)
        for what, call, once in (("write", "written", True), ("ours", "reading", False))
        for count in sizes
    ]
    flat = [Growth(side="ours", fact="peak_mb", at_most=0.1), Growth(side="ours", fact="seconds", at_most=0.1)]
    return [*made, Case(name="episodes in the data set", unit="window", sides=sides, goals=flat, repeats=3)]


def _planning(axis: str, xs: Sequence[int], options: Options) -> Case:
    base = {**SEARCH, "tasks": 1, "horizon": 8, "timed_iterations": 2 if options.quick else SEARCH["iterations"]}
    sides = [Side(name="weights", call="bench.models:export", args={"size": SEARCH["size"]}, once=True)]
    for x in xs:
        args = {**base, "times": 1 if options.quick else 5, axis: x}
        told = {"series": "ours float32", "x": x}
        mine = {**args, **SHIPPED, "precision": "float32"}
        sides.append(Side(name=f"ours float32, {x}", call="bench.w8_growth:planning", args={"told": told, **mine}))
        theirs = for_peer(args) | {"precision": "float32", "told": told | {"series": "peer float32"}}
        sides.append(Side(name=f"peer float32, {x}", call="bench.peers.planning:grown", args=theirs, peer=True))
    goals = [Growth(side=f"{who} float32", fact=fact) for who in ("ours", "peer") for fact in ("seconds", "peak_mb")]
    if axis == "tasks":
        goals[0] = Growth(side="ours float32", fact="seconds", at_most=0.0)
    return Case(name=axis, unit="plan", sides=sides, goals=goals, repeats=3)


def planning(told: Mapping[str, Any], **search: Any) -> Mapping[str, Any]:
    """One search of ours, and where it belongs on its axis."""
    return {**plans.ours(**search), **told}


def reading(count: int) -> Mapping[str, Any]:
    """Random windows of a data set of that many episodes with stored pictures."""
    store = _store(count)
    windows = Windows(store, store.ids, frame_skip=5, low_steps=8, cameras=("front",))
    draw = np.random.default_rng(0)
    indices = draw.integers(0, len(windows), (20, w4_reading.BATCH))
    return {**w4_reading.timed(windows.read, indices), "series": "ours", "x": count, "rows": store.total_rows}


def written(count: int) -> Mapping[str, Any]:
    """Record the data set in a process of its own, so that reading's memory is reading's."""
    return {"seconds": 0.0, "rows": _store(count).total_rows}


def _store(count: int) -> Store:
    world = get_world("tworoom")
    return collect(
        world,
        WORK / "data" / f"growth-{count}",
        record=lambda seeds, cap: episodes(world, seeds, cap),
        episodes=count,
        seed=0,
        max_env_steps=200,
        stored_size=SIZE,
    )


WORKLOAD = Workload(
    name="W8",
    title="Growth",
    cases=cases,
    notes=(
        "The shipped search at the laptop's size with one thing varied at a time, and reading random windows of data "
        "sets of different sizes. Exponents are slopes of straight lines through the logarithms: 1 is proportional, 0 "
        "is flat. Seconds are per task and per window; memory is the process's peak."
    ),
)
