"""W5: stepping and drawing worlds, one at a time and many together; TwoRoom against the published one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bench.cases import Case, Options, Ratio, Side, Workload
from bench.child import median_seconds
from dualwm.envs.base import World, get_world, world_names
from dualwm.envs.tworoom_gym import TwoRoomEnv

SIZE = 64
ROOMS = 256
SLOWER = {"cube": 40}
"""Worlds that are stepped so many times less, because a step of theirs takes so long."""


def cases(options: Options) -> Sequence[Case]:
    """TwoRoom with a frame after every step, beside the peer; then every world by itself."""
    steps = 20 if options.quick else 400
    here, there = "bench.w5_worlds", "bench.peers.worlds"
    one = [
        Side(name="ours", call=f"{here}:one_room", args={"steps": 5 * steps}),
        Side(name="peer", call=f"{there}:one_room", args={"steps": steps}, peer=True),
    ]
    many = [
        Side(name="ours", call=f"{here}:together", args={"world": "tworoom", "steps": steps, "draw": True}),
        Side(name="peer", call=f"{there}:rooms", args={"steps": max(2, steps // 20)}, peer=True),
    ]
    goal = Ratio(ours="ours", other="peer", at_least=40.0)
    made = [
        Case(name="TwoRoom, one room", unit="step", sides=one, goals=[Ratio(ours="ours", other="peer")]),
        Case(name=f"TwoRoom, {ROOMS} rooms", unit="step", sides=many, goals=[goal]),
    ]
    for name in world_names():
        args = {"world": name, "steps": max(2, steps // SLOWER.get(name, 1))}
        both = [
            Side(name="ours, steps alone", call=f"{here}:together", args={**args, "draw": False}),
            Side(name="ours, with frames", call=f"{here}:together", args={**args, "draw": True}),
        ]
        made.append(Case(name=f"{name}, {ROOMS} together", unit="step", sides=both))
    return made


def one_room(steps: int) -> Mapping[str, Any]:
    """One room through Gymnasium's interface; every observation is a frame."""
    env, actions = TwoRoomEnv(image_size=SIZE), np.random.default_rng(0).uniform(-1, 1, (steps, 2)).astype(np.float32)
    env.reset(seed=0)

    def walk() -> None:
        for action in actions:
            env.step(action)

    return {"seconds": median_seconds(walk, 3) / steps}


def together(world: str, steps: int, draw: bool) -> Mapping[str, Any]:
    """Many simulators stepped as one, each drawn after every step where that is asked for."""
    made = get_world(world)
    states = _starts(made)
    actions = _actions(made, steps)
    simulation = made.simulate(states, list(range(ROOMS)), made.variants[0])

    def walk() -> None:
        for action in actions:
            found = simulation.step(action)
            if draw:
                made.draw(found, SIZE)

    return {"seconds": median_seconds(walk, 3) / (steps * ROOMS)}


def _starts(world: World) -> np.ndarray:
    """States of behaviour, so that all of them are lawful."""
    column = next(spec.name for spec in world.columns if spec.role == "state")
    found = np.concatenate([world.episode(seed, 50)[column] for seed in range(8)])
    return found[np.random.default_rng(0).integers(0, len(found), ROOMS)].astype(np.float64)


def _actions(world: World, steps: int) -> np.ndarray:
    draw = np.random.default_rng(1)
    if world.discrete:
        return np.eye(world.action_dim)[draw.integers(0, world.action_dim, (steps, ROOMS))]
    return draw.uniform(world.action_low, world.action_high, (steps, ROOMS, world.action_dim))


WORKLOAD = Workload(
    name="W5",
    title="Worlds",
    cases=cases,
    notes=(
        "TwoRoom with a 64-px frame after every step. One room: our Gymnasium environment against the bare published "
        "one, whose 224-px picture is shrunk by OpenCV. Many: our rooms stepped and drawn as arrays against the "
        "published pool of environments with its own resizing. Then every world of ours by itself, in steps of one "
        "simulator per second."
    ),
)
