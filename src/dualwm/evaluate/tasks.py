"""From a pool of pairs to a TaskSet: which tasks a seed stands for, under which protocol, and how hard they are.

heldout  pairs not solved at the start, an episode at most once; drawn by randomness keyed by (seed, offset, protocol),
         in an order that does not depend on how many are asked for: 20 tasks are the first 20 of 200.
paper    the sampling rule of the authors' release: all rows that leave room for the offset, over all episodes, drawn
         without replacement and sorted by row. Pairs solved at the start stay in, an episode may occur twice.

Seeds of 1000 and above draw from the dev collection only, smaller ones from the test collection only, so that nothing
can be chosen on the tasks that are reported.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ProtocolError, did_you_mean
from dualwm.evaluate.needs import keyed_generator
from dualwm.evaluate.pool import PairPool, Pairs
from dualwm.files import write_whole
from dualwm.records import Task, TaskSet, is_hard

PROTOCOLS = ("heldout", "paper")
FIRST_DEV_SEED = 1000
LONG_OFFSET_ENV_STEPS = 100
HARD_SHARE = 0.7
"""At the long offset at least this share of test tasks leads through the door over 100 px or more."""


def budget_env_steps(goal_offset_env_steps: int) -> int:
    """Appendix D's budgets 50/75/100/125 for offsets 25/50/75/100; any other offset gets the same 25 steps to spare."""
    return goal_offset_env_steps + 25


def collection_of(seed: int) -> str:
    """The collection an evaluation seed may draw from."""
    if seed < 0:
        raise ProtocolError(f"An evaluation seed is 0 or more, got {seed}.")
    return "dev" if seed >= FIRST_DEV_SEED else "test"


def sample_taskset(
    pool: PairPool,
    *,
    seed: int,
    num_tasks: int,
    goal_offset_env_steps: int,
    protocol: str = "heldout",
    rule: str | None = None,
) -> TaskSet:
    """The tasks that (seed, offset, protocol) stand for; whoever runs them, they are the same (Appendix J).

    The same call gives the same digest.
    """
    rule = pool.rules[0] if rule is None else rule
    _check_words(pool, seed, num_tasks, protocol, rule)
    if protocol == "paper":
        pairs = _paper_pairs(pool, seed, goal_offset_env_steps, num_tasks)
        rows = np.arange(num_tasks)
    else:
        pairs = _heldout_pairs(pool, goal_offset_env_steps)
        rows = _heldout_rows(pairs, rule, seed, goal_offset_env_steps, num_tasks)
    return TaskSet(
        world=pool.world,
        rule=rule,
        collection=pool.collection,
        protocol=protocol,
        goal_offset_env_steps=goal_offset_env_steps,
        budget_env_steps=budget_env_steps(goal_offset_env_steps),
        seed=seed,
        tasks=tuple(pairs.task(row, index, rule) for index, row in enumerate(rows.tolist())),
    )


@dataclass(frozen=True, kw_only=True)
class Difficulty:
    """How hard a TaskSet is before anyone tries it. Shares are fractions; None where a world measures no paths."""

    tasks: int
    initially_solved: float
    hard: float | None
    """Share of tasks that lead into the other room over a shortest path of 100 px or more."""
    path_px: Mapping[str, float] | None
    """Quantiles of the shortest path, by name."""

    def to_plain(self) -> dict[str, Any]:
        """JSON data."""
        return asdict(self)


def difficulty(tasks: Sequence[Task]) -> Difficulty:
    """Count what makes tasks easy or hard."""
    measured = bool(tasks) and all("path_px" in task.facts for task in tasks)
    return Difficulty(
        tasks=len(tasks),
        initially_solved=float(np.mean([task.initially_solved for task in tasks])) if tasks else 0.0,
        hard=float(np.mean([is_hard(task.facts) for task in tasks])) if measured else None,
        path_px=quantiles([task.facts["path_px"] for task in tasks]) if measured else None,
    )


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """The 5, 25, 50, 75 and 95 % quantiles, by name."""
    return {f"q{q:02d}": float(np.quantile(np.array(values), q / 100)) for q in (5, 25, 50, 75, 95)}


def check_difficulty(tasksets: Sequence[TaskSet]) -> Difficulty:
    """The difficulty of the TaskSets of a headline, together; a headline cannot rest on long tasks that are too easy.

    The law is about long `heldout` tasks of the test collection. What protocol `paper` draws is what the release's
    rule gives, hard or not; its difficulty is printed beside the result.
    """
    found = difficulty([task for taskset in tasksets for task in taskset.tasks])
    bound = [t.goal_offset_env_steps == LONG_OFFSET_ENV_STEPS and t.protocol == "heldout" for t in tasksets]
    test = all(t.collection == "test" for t in tasksets)
    if test and all(bound) and found.hard is not None and found.hard < HARD_SHARE:
        raise ProtocolError(
            f"At offset {LONG_OFFSET_ENV_STEPS} at least {HARD_SHARE:.0%} of test tasks must lead into the other room "
            f"over a path of 100 px or more; of these {found.tasks} tasks (seeds {[t.seed for t in tasksets]}) only "
            f"{found.hard:.1%} do. Cut the test pool from longer crossings."
        )
    return found


def save_taskset(taskset: TaskSet, path: Path) -> None:
    """Write a TaskSet as JSON together with its digest, whole or not at all."""
    data = {"digest": taskset.digest, "taskset": taskset.to_plain()}
    write_whole(path, json.dumps(data, sort_keys=True, indent=1) + "\n")


def load_taskset(path: Path) -> TaskSet:
    """Read a TaskSet; a file whose tasks no longer give its digest is refused."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        taskset = TaskSet.from_plain(data["taskset"])
        written = data["digest"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ProtocolError(
            f"{path}: expected a TaskSet as `dualwm eval` writes it, and could not read it ({problem!r}). "
            "Restore the file, or let the command that made it run again into another folder."
        ) from problem
    if taskset.digest != written:
        raise ProtocolError(
            f"{path}: its tasks give the digest {taskset.digest[:12]}, the file says {str(written)[:12]}. The file was "
            "changed after it was written; restore it, or sample the tasks again."
        )
    return taskset


def _check_words(pool: PairPool, seed: int, num_tasks: int, protocol: str, rule: str) -> None:
    if protocol not in PROTOCOLS:
        raise ProtocolError(f"There is no protocol named {protocol!r}. {did_you_mean(protocol, PROTOCOLS)}")
    if rule not in pool.rules:
        raise ProtocolError(f"{pool.world} has no success rule named {rule!r}. {did_you_mean(rule, pool.rules)}")
    if num_tasks < 1:
        raise ProtocolError(f"A TaskSet has at least one task, got num_tasks={num_tasks}.")
    if collection_of(seed) != pool.collection:
        raise ProtocolError(
            f"Seed {seed} may only draw from the {collection_of(seed)} collection and this pool is cut from the "
            f"{pool.collection} collection: seeds of {FIRST_DEV_SEED} and above are for dev, smaller ones for test."
        )


def _heldout_pairs(pool: PairPool, offset: int) -> Pairs:
    if offset not in pool.pairs:
        raise ProtocolError(
            f"This pool of {pool.world} has pairs of the offsets {sorted(pool.pairs)}, not of {offset}. "
            "Choose one of them, or build a pool from a collection with the offset you need."
        )
    return pool.pairs[offset]


def _paper_pairs(pool: PairPool, seed: int, offset: int, num_tasks: int) -> Pairs:
    if (seed, offset) not in pool.paper:
        raise ProtocolError(
            f"This pool of {pool.world} carries the paper's sampling for (seed, offset) in {sorted(pool.paper)}, not "
            f"for ({seed}, {offset}): the rule needs all rows of a collection. Choose one of these, or build a pool "
            "from a collection with the seed you need."
        )
    pairs = pool.paper[seed, offset]
    if num_tasks > len(pairs):
        raise ProtocolError(
            f"Protocol paper draws {len(pairs)} tasks per seed and {num_tasks} are wanted. Ask for fewer tasks or more "
            "seeds: a larger draw would be other tasks."
        )
    return pairs


def _heldout_rows(pairs: Pairs, rule: str, seed: int, offset: int, num_tasks: int) -> NDArray[np.int64]:
    order = keyed_generator("taskset", seed, offset, "heldout").permutation(len(pairs))
    order = order[~pairs.solved[rule][order]]
    _, first = np.unique(pairs.episode[order], return_index=True)
    if len(first) < num_tasks:
        raise ProtocolError(
            f"{num_tasks} tasks of offset {offset} are wanted, and with an episode used at most once and pairs solved "
            f"at the start left out the pool gives {len(first)}. Ask for fewer tasks or use more seeds."
        )
    return order[np.sort(first)[:num_tasks]].astype(np.int64)
