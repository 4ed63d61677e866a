"""`dualwm reproduce`: run recorded numbers again, on the tasks that were written down with them.

On the same kind of machine with the same versions every task must come out as it was recorded, to the last figure.
Elsewhere floating point differs a little, plans differ with it, and one asks whether success does.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dualwm.envs.base import World, get_world
from dualwm.errors import ProtocolError
from dualwm.evaluate.closed_loop import Progress, run
from dualwm.evaluate.outcomes import RunFolder
from dualwm.records import NO_WEIGHTS, Outcome, TaskSet, read_outcomes
from dualwm.stats import Paired, paired
from dualwm.zoo.evaluation import Spec, entrant
from dualwm.zoo.provenance import machine, versions


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
    on_progress: Callable[[TaskSet, Progress], None] | None = None,
) -> list[Reproduced]:
    """Run the numbers of a folder again: all of them, or those of one system or offset.

    `num_tasks` are the first ones of a number, shared evenly among its seeds; None takes all.
    """
    folder = RunFolder.find(path)
    known = _recorded(path)
    chosen = sorted(
        {
            (o.system, o.goal_offset_env_steps)
            for o in known
            if system in (None, o.system) and goal_offset_env_steps in (None, o.goal_offset_env_steps)
        }
    )
    if not chosen:
        there = sorted({(o.system, o.goal_offset_env_steps) for o in known})
        raise ProtocolError(f"{path} records (system, offset) {there}, not what was asked for. Choose one of these.")
    tasksets = folder.tasksets()
    variant = str(folder.command.get("variant") or get_world(known[0].world).variants[0])
    return [
        _again(
            [o for o in known if (o.system, o.goal_offset_env_steps) == cell], tasksets, variant, num_tasks, on_progress
        )
        for cell in chosen
    ]


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


def _recorded(path: Path) -> list[Outcome]:
    if not (path / "outcomes.jsonl").exists():
        raise ProtocolError(f"{path} is not finished: there is no outcomes.jsonl. Type the command of the run again.")
    outcomes = read_outcomes(path / "outcomes.jsonl")
    return [replace(o, weights_digest=o.weights_digest or NO_WEIGHTS) for o in outcomes]


def _again(
    recorded: list[Outcome],
    tasksets: dict[str, TaskSet],
    variant: str,
    num_tasks: int | None,
    on_progress: Callable[[TaskSet, Progress], None] | None,
) -> Reproduced:
    first = recorded[0]
    digests = sorted({o.taskset_digest for o in recorded})
    each = None if num_tasks is None else max(1, num_tasks // len(digests))
    before: list[Outcome] = []
    now: list[Outcome] = []
    for digest in digests:
        some = [o for o in recorded if o.taskset_digest == digest][:each]
        before += some
        now += _run_again(get_world(first.world), _taskset(tasksets, digest), some, variant, on_progress)
    return Reproduced(
        system=first.system,
        goal_offset_env_steps=first.goal_offset_env_steps,
        differing=sum(one != other for one, other in zip(before, now, strict=True)),
        success=paired([o.success for o in now], [o.success for o in before]),
    )


def _run_again(
    world: World,
    taskset: TaskSet,
    recorded: list[Outcome],
    variant: str,
    on_progress: Callable[[TaskSet, Progress], None] | None,
) -> list[Outcome]:
    first = recorded[0]
    enters = entrant(Spec.parse(first.system), world, first.goal_offset_env_steps, variant)
    if enters.weights_digest != first.weights_digest:
        raise ProtocolError(
            f"{first.system} was recorded with the weights {first.weights_digest[:12]}, and those found here are "
            f"{enters.weights_digest[:12]}. Take the version that shipped the recorded weights, or evaluate anew."
        )
    return run(
        world,
        enters.controller(taskset),
        taskset,
        size=enters.frame_size,
        variant=variant,
        system=first.system,
        weights_digest=enters.weights_digest,
        only=[o.task for o in recorded],
        on_progress=None if on_progress is None else lambda progress: on_progress(taskset, progress),
    ).outcomes


def _taskset(tasksets: dict[str, TaskSet], digest: str) -> TaskSet:
    if digest not in tasksets:
        raise ProtocolError(
            f"No taskset-*.json of the folder has the digest {digest[:12]} that its outcomes name. Restore the file."
        )
    return tasksets[digest]
