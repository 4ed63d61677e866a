"""What a count of successes says: intervals for one rate and comparisons of two, in numpy and the standard library.

Rates are fractions in [0, 1]. Every interval here is two-sided.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from statistics import NormalDist


@dataclass(frozen=True)
class Rate:
    """Successes among n tasks; `fraction` and `ci95` are None for an empty set rather than a made-up number."""

    successes: int
    n: int

    @staticmethod
    def of(flags: Iterable[bool]) -> "Rate":
        """The rate of True among `flags`."""
        values = list(flags)
        return Rate(sum(values), len(values))

    @property
    def fraction(self) -> float | None:
        """Successes per task."""
        return self.successes / self.n if self.n else None

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Wilson's interval."""
        return wilson(self.successes, self.n) if self.n else None


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a binomial rate: sensible at 0 and n, where the textbook interval has width zero.

    Counts are whole numbers, except where one asks what a multiple of them would give.
    """
    assert 0 <= successes <= n > 0, (successes, n)
    z = _quantile(level)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the ends the formula gives exactly 0 and 1 up to rounding; say so exactly.
    return (0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


@dataclass(frozen=True, kw_only=True)
class Paired:
    """Two systems on the same n tasks, `first` minus `second`."""

    n: int
    first_successes: int
    only_first: int
    only_second: int
    difference: float
    ci95: tuple[float, float]
    p_value: float
    """Exact McNemar, two-sided."""

    @property
    def both(self) -> int:
        """Tasks on which both succeeded."""
        return self.first_successes - self.only_first

    @property
    def neither(self) -> int:
        """Tasks on which neither succeeded."""
        return self.n - self.both - self.only_first - self.only_second

    @property
    def agreement(self) -> float:
        """Share of tasks that ended the same way."""
        return (self.both + self.neither) / self.n

    @property
    def separated(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.ci95[0] > 0 or self.ci95[1] < 0

    @property
    def more_tasks(self) -> int | None:
        """How many more tasks would separate the two if they fell into the four cases in the same shares.

        0 where they are separated, None where no number would. A true difference of exactly this size is then found
        about every other time: a plan for a new experiment should double it.
        """
        if self.separated or self.only_first == self.only_second:
            return 0 if self.separated else None
        return _tasks_until_separated(self.both, self.only_first, self.only_second, self.neither) - self.n

    def sentence(self) -> str:
        """The comparison in words, in points of success."""
        low, high = (100 * end for end in self.ci95)
        told = f"difference {100 * self.difference:+.1f} points, 95 % interval {low:.1f} to {high:.1f}"
        more = self.more_tasks
        if more == 0:
            return f"{told}: separated"
        if more is None:
            return f"{told}: not separated; the same number of successes"
        return f"{told}: not separated; about {_two_digits(more)} more tasks would separate it"


def paired(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """Compare two systems by their successes on the same tasks in the same order."""
    assert len(first) == len(second) > 0, (len(first), len(second))
    both = sum(a and b for a, b in zip(first, second, strict=True))
    only_first = sum(first) - both
    only_second = sum(second) - both
    neither = len(first) - both - only_first - only_second
    return Paired(
        n=len(first),
        first_successes=sum(first),
        only_first=only_first,
        only_second=only_second,
        difference=(only_first - only_second) / len(first),
        ci95=newcombe_paired(both, only_first, only_second, neither),
        p_value=mcnemar(only_first, only_second),
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value that the tasks on which two systems differ fall either way with equal chance."""
    n = only_first + only_second
    tail = sum(comb(n, i) for i in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**n)


def newcombe_paired(
    both: float, only_first: float, only_second: float, neither: float, level: float = 0.95
) -> tuple[float, float]:
    """Newcombe's (1998) score interval, method 10, for a difference of two rates measured on the same tasks.

    The two Wilson intervals are combined as for independent rates, less what their correlation explains.
    """
    n = both + only_first + only_second + neither
    successes = both + only_first, both + only_second
    p, q = successes[0] / n, successes[1] / n
    p_low, p_high = wilson(successes[0], n, level)
    q_low, q_high = wilson(successes[1], n, level)
    phi = _correlation(both, only_first, only_second, neither)

    def spread(x: float, y: float) -> float:
        return sqrt(max(0.0, x * x - 2 * phi * x * y + y * y))

    difference = (only_first - only_second) / n
    return difference - spread(p - p_low, q_high - q), difference + spread(p_high - p, q - q_low)


def _correlation(both: float, only_first: float, only_second: float, neither: float) -> float:
    """Newcombe's phi: the table's correlation, pulled towards zero by half a task where it is positive."""
    margins = (both + only_first) * (only_second + neither) * (both + only_second) * (only_first + neither)
    if margins == 0:
        return 0.0
    n = both + only_first + only_second + neither
    excess = both * neither - only_first * only_second
    return (max(excess - n / 2, 0.0) if excess > 0 else excess) / sqrt(margins)


_MOST_TASKS = 10**9
"""Beyond this many nobody asks."""


def _tasks_until_separated(both: int, only_first: int, only_second: int, neither: int) -> int:
    """The smallest n at which Newcombe's interval of these shares leaves out 0; its ends move inwards with n."""
    found = both + only_first + only_second + neither

    def is_separated(n: int) -> bool:
        low, high = newcombe_paired(*(count * n / found for count in (both, only_first, only_second, neither)))
        return low > 0 or high < 0

    low, high = found, 2 * found
    while not is_separated(high) and high < _MOST_TASKS:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_separated(middle) else (middle, high)
    return high


def _two_digits(count: int) -> str:
    """A count to two digits, as nobody should believe more of them."""
    unit = 10 ** max(len(str(count)) - 2, 0)
    return f"{-(-count // unit) * unit:,}"


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
