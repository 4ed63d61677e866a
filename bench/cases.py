"""What a bench is made of: sides that are timed against each other, cases that hold them, goals that judge them."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / ".bench"
"""Everything the bench makes and may be thrown away: the peers' environment, weights, data. Ignored by git."""
PEER_PYTHON = WORK / "peer" / "bin" / "python"


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the whole bench is run."""

    quick: bool = False
    """Tiny settings, to see that everything works. The numbers mean nothing."""
    repeats: int = 5
    """Fresh processes per side; a case may lower it where one run takes long."""
    threads: int = field(default_factory=lambda: usable_cores())
    """Threads of every side."""
    peer: bool = True
    """Whether the peers' environment is there."""
    long: bool = False
    """Also run what takes the better part of an hour (W7)."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One thing to time: a function called in a fresh process.

    The function takes `args` as keywords and returns a mapping with `seconds` per unit of work, and whatever facts
    belong to it: `flops` per unit, `bytes`, ...
    """

    name: str
    """Such as "ours bf16" or "peer float32"."""
    call: str
    """module:function."""
    args: Mapping[str, Any] = field(default_factory=dict[str, Any])
    peer: bool = False
    """Run by the peers' Python."""
    precision: str = ""
    """float32 or bfloat16 where a share of the matrix rate is to be stated."""
    once: bool = False
    """Run a single time: it takes long, or its answer cannot vary."""


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """How many times faster one side is to be than another: their seconds divided, repeat by repeat."""

    ours: str
    other: str
    at_least: float | None = None
    """The goal; None only states the ratio."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A fact of one side (divided by the same fact of another side, where there is one) against a limit."""

    side: str
    fact: str
    over: str | None = None
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True, kw_only=True)
class Growth:
    """The exponent with which a fact of a series grows; sides of a series return `series` and `x`."""

    side: str
    """The series."""
    fact: str
    at_most: float | None = None


@dataclass(frozen=True, kw_only=True)
class Case:
    """Sides that do the same work. Each repeat runs all of them once, one after the other."""

    name: str
    unit: str
    """What the seconds are per: "plan", "window", "frame", "step"."""
    sides: Sequence[Side]
    goals: Sequence[Ratio | Bound | Growth] = ()
    repeats: int | None = None


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One row of the bench's table."""

    name: str
    title: str
    cases: Callable[[Options], Sequence[Case]]
    notes: str = ""
    """One paragraph for the page of results: what is compared and what is left out."""
