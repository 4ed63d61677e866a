"""How hard a world's tasks are before any model tries them, offset by offset and rule by rule.

What standing still, uniform actions, habits (`marginal`), the recorded way (`replay`) and the world's expert reach;
how many pairs of the pool a rule calls solved before the first step; and how far the goals lie. It looks at the dev
collection only: whoever changes a collection law after reading a profile has not read the test tasks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dualwm.errors import ProtocolError
from dualwm.evaluate.closed_loop import run
from dualwm.evaluate.floors import floor, floors_for
from dualwm.evaluate.needs import World
from dualwm.evaluate.pool import PairPool
from dualwm.evaluate.summary import Part, joint_digest
from dualwm.evaluate.tasks import FIRST_DEV_SEED, difficulty, quantiles, sample_taskset
from dualwm.records import NO_WEIGHTS, Outcome, Task, TaskSet

_DIGITS = 4
"""Of quantiles: what machines differ in lies far behind."""


@dataclass(frozen=True, kw_only=True)
class Hardness:
    """The tasks of one offset under one success rule. Shares are fractions, quantiles go by name (`q50`)."""

    rule: str
    goal_offset_env_steps: int
    budget_env_steps: int
    pairs: int
    """Of the pool, from which tasks are drawn."""
    already_solved: float
    """Share of these pairs whose start satisfies the rule. Tasks of the protocol `heldout` are the others."""
    tasks: int
    taskset_digest: str
    floors: Mapping[str, Part]
    """By name, where the world has what the floor needs."""
    displacement: Mapping[str, float]
    """From start to goal, in the rule's own unit."""
    facts: Mapping[str, Mapping[str, float]]
    """Of everything the world says about a task, such as `path_px`."""
    oracle_env_steps: Mapping[str, float] | None
    """Length of the expert's way, where it arrives."""
    hard: float | None
    """Share of tasks that lead into another room over a shortest path of 100 px or more."""


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The difficulty profile of a world's dev tasks. No clocks, dates or hosts: the same law gives the same profile."""

    world: str
    variant: str
    collection: str
    protocol: str
    law: Mapping[str, Any]
    seeds: tuple[int, ...]
    rows: tuple[Hardness, ...]

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)


def profile(
    world: World,
    pool: PairPool,
    *,
    offsets: Sequence[int],
    seeds: Sequence[int] = (FIRST_DEV_SEED,),
    num_tasks: int = 200,
    variant: str,
    rules: Sequence[str] = (),
    on_progress: Callable[[int, int], None] | None = None,
) -> Profile:
    """Run every floor the world allows on `num_tasks` dev tasks per seed of each offset, under each rule."""
    if not seeds or any(seed < FIRST_DEV_SEED for seed in seeds):
        raise ProtocolError(
            f"A difficulty profile is made of dev tasks, which belong to seeds of {FIRST_DEV_SEED} and above; got "
            f"{list(seeds)}. Test tasks are for reporting results."
        )
    cells = [(rule, offset) for rule in rules or world.rules for offset in offsets]
    rows: list[Hardness] = []
    for rule, offset in cells:
        tasksets = [
            sample_taskset(pool, seed=seed, num_tasks=num_tasks, goal_offset_env_steps=offset, rule=rule)
            for seed in seeds
        ]
        rows.append(_hardness(world, pool, tasksets, variant))
        if on_progress is not None:
            on_progress(len(rows), len(cells))
    return Profile(
        world=world.name,
        variant=variant,
        collection=pool.collection,
        protocol="heldout",
        law=dict(getattr(world, "behaviour_law", {})),
        seeds=tuple(seeds),
        rows=tuple(rows),
    )


def _hardness(world: World, pool: PairPool, tasksets: Sequence[TaskSet], variant: str) -> Hardness:
    first = tasksets[0]
    pairs = pool.pairs[first.goal_offset_env_steps]
    tasks = [task for taskset in tasksets for task in taskset.tasks]
    outcomes = {name: _outcomes(world, name, tasksets, variant) for name in floors_for(world)}
    arrived = [outcome.steps for outcome in outcomes.get("oracle", []) if outcome.success]
    return Hardness(
        rule=first.rule,
        goal_offset_env_steps=first.goal_offset_env_steps,
        budget_env_steps=first.budget_env_steps,
        pairs=len(pairs),
        already_solved=float(np.mean(pairs.solved[first.rule])),
        tasks=len(tasks),
        taskset_digest=joint_digest(tasksets),
        floors={name: Part.of(outcome.success for outcome in found) for name, found in outcomes.items()},
        displacement=_rounded(_displacements(world, tasks, first.rule)),
        facts={name: _rounded([task.facts[name] for task in tasks]) for name in sorted(tasks[0].facts)},
        oracle_env_steps=_rounded(arrived) if arrived else None,
        hard=difficulty(tasks).hard,
    )


def _outcomes(world: World, name: str, tasksets: Sequence[TaskSet], variant: str) -> list[Outcome]:
    found: list[Outcome] = []
    for taskset in tasksets:
        controller = floor(name, world, taskset, variant)
        found += run(
            world, controller, taskset, size=1, variant=variant, system=name, weights_digest=NO_WEIGHTS
        ).outcomes
    return found


def _displacements(world: World, tasks: Sequence[Task], rule: str) -> Sequence[float]:
    starts, goals = (np.array([getattr(task, end) for task in tasks], np.float64) for end in ("start", "goal"))
    return world.success(starts, goals, rule)[1].tolist()


def _rounded(values: Sequence[float]) -> dict[str, float]:
    return {name: round(value, _DIGITS) for name, value in quantiles(values).items()}
