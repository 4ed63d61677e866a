"""Where a search begins: all that a proposal may look at. A method with an actor or a bank answers with its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dualwm.plan.proposals import Proposal
from dualwm.states import State


@dataclass(frozen=True)
class Situation:
    """One search of b tasks that share stage, progress and context length."""

    stage: Literal["route", "refine", "converge"]
    """What is searched: macro-actions towards the goal, blocks towards the subgoal, blocks towards the goal."""
    context: State
    """(b, t) observed states that predictions start from: high ones (t = 1) for a route, low ones otherwise."""
    target: State
    """(b,) what the cost compares with: the goal's high state, the subgoal, or the goal's low state."""
    goal: State
    """(b,) the goal's low state, whatever the stage."""
    usual: Proposal
    """What would be sampled from if nobody had anything better, warm-started where it may be."""


Propose = Callable[[Situation], Proposal]


def usual(situation: Situation) -> Proposal:
    """Nothing better: the controller's own distribution."""
    return situation.usual
