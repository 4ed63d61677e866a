"""Whether a world keeps its promises: laws every world obeys, and in words what is wrong where one does not.

`check_world(world)` asks each law in turn. A law is a function of a `Sample` (the world, and a few short episodes of
it) that yields one sentence for everything it finds. Laws ask a world only what its protocol promises.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from dualwm.envs.base import missing_members
from dualwm.envs.conform import episodes, looks, members, motion, success
from dualwm.envs.conform.sample import Law, Sample
from dualwm.errors import in_one_line

__all__ = ["Verdict", "check_world"]

_MANY = 4
"""Sentences of one law that are worth reading."""

FIRST: tuple[tuple[str, Law], ...] = (
    ("declared values", members.declared_values),
    ("columns", members.columns),
)
"""What all other laws build on; they need no episode."""

LAWS: tuple[tuple[str, Law], ...] = (
    ("episodes are as declared", episodes.as_declared),
    ("episodes are functions of their seeds", episodes.functions_of_their_seeds),
    ("recorded actions", episodes.recorded_actions),
    ("a state can be set exactly", motion.set_exactly),
    ("recorded actions lead where they led", motion.replay),
    ("stepping is deterministic", motion.deterministic),
    ("simulators do not touch each other", motion.independent),
    ("action bounds", motion.action_bounds),
    ("pictures", looks.pictures),
    ("goal picture", looks.goal_picture),
    ("success", success.success),
    ("success is symmetric", success.symmetric),
    ("what is optional", members.optional),
)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One law and what it found; nothing found is well."""

    law: str
    complaints: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether the law holds."""
        return not self.complaints


def check_world(candidate: object) -> list[Verdict]:
    """Ask every law. Where a world is not even complete, the laws that build on it are left out."""
    lacking = missing_members(candidate)
    complaints = [f"It has no `{name}`. dualwm.envs.World says what it is." for name in lacking]
    verdicts = [Verdict(law="members", complaints=tuple(complaints))]
    if lacking:
        return verdicts
    sample = Sample(candidate)  # pyright: ignore[reportArgumentType]
    verdicts += [_ask(name, law, sample) for name, law in FIRST]
    if all(verdict.ok for verdict in verdicts):
        verdicts += [_ask(name, law, sample) for name, law in LAWS]
    return verdicts


def _ask(name: str, law: Law, sample: Sample) -> Verdict:
    complaints: list[str] = []
    try:
        complaints += _first(law(sample))
    except Exception as problem:  # a world's own exception is a finding like any other
        complaints.append(f"The world stopped with an exception, {in_one_line(problem)}.")
    return Verdict(law=name, complaints=tuple(complaints))


def _first(found: Iterable[str]) -> Iterable[str]:
    """The first few sentences, and that there are more."""
    for number, sentence in enumerate(found):
        if number == _MANY:
            yield "There is more of this kind; mend these first."
            return
        yield sentence
