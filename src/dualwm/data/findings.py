"""What a check says: a level, a sentence with its remedy, and the numbers behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing found: a sentence with its remedy, and the numbers behind it."""

    level: Level
    topic: str
    text: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])


def error(topic: str, text: str, **facts: Any) -> Finding:
    """What must be repaired before the data is used."""
    return Finding(level="error", topic=topic, text=text, facts=facts)


def warning(topic: str, text: str, **facts: Any) -> Finding:
    """What is probably not meant."""
    return Finding(level="warning", topic=topic, text=text, facts=facts)


def note(topic: str, text: str, **facts: Any) -> Finding:
    """What is good to know."""
    return Finding(level="note", topic=topic, text=text, facts=facts)


def some(numbers: Sequence[int] | NDArray[np.int64]) -> str:
    """The first few numbers, and whether there are more."""
    return ", ".join(str(n) for n in list(numbers)[:5]) + (", ..." if len(numbers) > 5 else "")
