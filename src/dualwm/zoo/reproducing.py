"""`dualwm reproduce`: run recorded numbers again, on the tasks that were written down with them.

On the same kind of machine with the same versions every task must come out as it was recorded, to the last figure.
Elsewhere floating point differs a little, plans differ with it, and one asks whether success does.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from dualwm.envs.base import get_world
from dualwm.evaluate.closed_loop import Progress, run
from dualwm.evaluate.outcomes import RunFolder
from dualwm.records import Outcome, TaskSet
from dualwm.stats import Paired, paired
from dualwm.zoo.evaluation import Spec, check_weights, entrant
from dualwm.zoo.provenance import machine, versions

Tell = Callable[[TaskSet, Progress], None]


@dataclass(frozen=True, kw_only=True)
class Reproduced:
    """Some tasks of one number, run again."""

    system: str
    goal_offset_env_steps: int
    differing: int
    """Tasks whose outcome is not the recorded one in every figure."""
    success: Paired
    """Now minus recorded."""

    @property
    def identical(self) -> bool:
        """Whether nothing differs."""
        return self.differing == 0

    @property
    def agrees(self) -> bool:
        """Whether the interval of the difference includes 0."""
        return not self.success.separated

    def sentence(self) -> str:
        """In words."""
        of, n = f"{self.system} at offset {self.goal_offset_env_steps}", self.success.n
        if self.identical:
            return f"{of}: identical on all {n} tasks, {self.success.first_successes} of them solved"
        ended = self.success.only_first + self.success.only_second
        low, high = (100 * end for end in self.success.ci95)
        return (
            f"{of}: {self.differing} of {n} tasks differ, {ended} of them in success; difference "
            f"{100 * self.success.difference:+.1f} points, 95 % interval {low:.1f} to {high:.1f}, which "
            f"{'includes' if self.agrees else 'does not include'} 0"
        )


def reproduce(
    path: Path,
    *,
    system: str | None = None,
    goal_offset_env_steps: int | None = None,
    num_tasks: int | None = 20,
    on_progress: Tell | None = None,
) -> list[Reproduced]:
    """Run the numbers of a folder again: all of them, or those of one system or offset.

    `num_tasks` are the first ones of a number, shared evenly among its seeds; None takes all.
    """
    folder = RunFolder.find(path)
    numbers = groupby(folder.finished(system, goal_offset_env_steps), key=lambda o: (o.system, o.goal_offset_env_steps))
    return [_again(folder, list(number), num_tasks, on_progress) for _, number in numbers]


def changed(path: Path) -> list[str]:
    """What is another version, or another kind of machine, than when the folder was written."""
    sessions = RunFolder.find(path).provenance()
    if not sessions:
        return ["the folder does not say by which versions it was written"]
    then: dict[str, Any] = {**sessions[-1].get("versions", {}), **sessions[-1].get("machine", {})}
    now = {**versions(), **machine()}
    return [
        f"{name} was {then.get(name)}, is {now[name]}"
        for name in now
        if name != "threads" and then.get(name) != now[name]
    ]


def _again(folder: RunFolder, recorded: list[Outcome], num_tasks: int | None, on_progress: Tell | None) -> Reproduced:
    by_seed = [list(some) for _, some in groupby(recorded, key=lambda o: o.taskset_digest)]
    each = None if num_tasks is None else max(1, num_tasks // len(by_seed))
    before = [outcome for some in by_seed for outcome in some[:each]]
    now = [outcome for some in by_seed for outcome in _run_again(folder, some[:each], on_progress)]
    return Reproduced(
        system=recorded[0].system,
        goal_offset_env_steps=recorded[0].goal_offset_env_steps,
        differing=sum(one != other for one, other in zip(before, now, strict=True)),
        success=paired([o.success for o in now], [o.success for o in before]),
    )


def _run_again(folder: RunFolder, recorded: list[Outcome], on_progress: Tell | None) -> list[Outcome]:
    """Tasks of one TaskSet."""
    first, taskset = recorded[0], folder.taskset(recorded[0].taskset_digest)
    world = get_world(first.world)
    variant = str(folder.command.get("variant") or world.variants[0])
    enters = entrant(Spec.parse(first.system), world, first.goal_offset_env_steps, variant)
    check_weights(first, enters.weights_digest)
    return run(
        world,
        enters.controller(taskset),
        taskset,
        size=enters.frame_size,
        variant=variant,
        system=first.system,
        weights_digest=enters.weights_digest,
        settings_digest=enters.settings_digest,
        only=[o.task for o in recorded],
        on_progress=None if on_progress is None else lambda progress: on_progress(taskset, progress),
    ).outcomes
