"""Numbers and names as tables say them, in every format alike."""

from collections.abc import Mapping

from dualwm.records import NO_WEIGHTS
from dualwm.report.tables import Row, Table
from dualwm.stats import Rate

Labels = Mapping[str, str]
"""What a system is called in print, by its resolved name."""


def percent(rate: Rate) -> str:
    """A rate without its interval."""
    return "–" if rate.fraction is None else f"{100 * rate.fraction:.1f} %"


def with_interval(rate: Rate) -> str:
    """A rate with its 95 % Wilson interval."""
    if rate.ci95 is None:
        return "–"
    low, high = rate.ci95
    return f"{percent(rate)} [{100 * low:.1f}, {100 * high:.1f}]"


def number(value: float | None) -> str:
    """One figure behind the point."""
    return "–" if value is None else f"{value:.1f}"


def name_of(row: Row, table: Table, labels: Labels) -> str:
    """A row's name; with its weights where two rows would else read the same."""
    twins = sum(other.system == row.system for other in table.rows)
    label = labels.get(row.system, row.system)
    return f"{label} (weights {row.weights_digest[:8]})" if twins > 1 else label


def is_quiet(row: Row) -> bool:
    """Floors and ceilings: what has no weights."""
    return row.weights_digest == NO_WEIGHTS
