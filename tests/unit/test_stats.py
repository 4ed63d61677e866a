from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats

from dualwm.stats import Paired, Rate, mcnemar, newcombe_paired, paired, wilson


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 200), (200, 200), (187, 200), (1, 7), (300, 600)])
def test_wilson_is_scipys(successes: int, n: int, level: float):
    theirs = scipy_stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert wilson(successes, n, level) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_mcnemar_is_scipys_binomial_test_on_the_tasks_that_differ():
    for first, second in product(range(12), repeat=2):
        n = first + second
        theirs = scipy_stats.binomtest(first, n, 0.5).pvalue if n else 1.0
        assert mcnemar(first, second) == pytest.approx(theirs, abs=1e-9)
    assert mcnemar(140, 60) == pytest.approx(scipy_stats.binomtest(60, 200).pvalue, rel=1e-9)


def test_an_empty_set_has_no_rate():
    assert (Rate.of([]).fraction, Rate.of([]).ci95) == (None, None)
    assert Rate.of([True, False, True]) == Rate(2, 3)
    assert Rate(2, 3).ci95 == wilson(2, 3)


def test_paired_counts_the_tasks_on_which_two_systems_differ():
    first = [True] * 30 + [True] * 15 + [False] * 3 + [False] * 12
    second = [True] * 30 + [False] * 15 + [True] * 3 + [False] * 12
    found = paired(first, second)
    assert (found.n, found.only_first, found.only_second) == (60, 15, 3)
    assert found.difference == 0.2
    assert found.p_value == mcnemar(15, 3)
    assert found.ci95 == newcombe_paired(30, 15, 3, 12)
    assert found.separated
    assert not paired([True, False], [False, True]).separated


@settings(derandomize=True, max_examples=100, deadline=None)
@given(*[st.integers(0, 40)] * 4)
def test_the_paired_interval_contains_the_difference_and_swaps_sign_with_the_systems(a: int, b: int, c: int, d: int):
    if a + b + c + d == 0:
        return
    low, high = newcombe_paired(a, b, c, d)
    difference = (b - c) / (a + b + c + d)
    assert -1 - 1e-12 <= low <= difference + 1e-12
    assert difference - 1e-12 <= high <= 1 + 1e-12
    assert newcombe_paired(a, c, b, d) == pytest.approx((-high, -low))
    assert newcombe_paired(d, b, c, a) == pytest.approx((low, high))  # counting failures swaps the systems twice


def test_without_correlation_the_paired_interval_is_that_of_independent_rates():
    # 4 * 9 = 6 * 6: the systems succeed independently of each other.
    low, high = newcombe_paired(4, 6, 6, 9)
    p_low, p_high = wilson(10, 25)
    assert high == pytest.approx(np.hypot(p_high - 0.4, 0.4 - p_low))
    assert low == pytest.approx(-high)


@pytest.mark.parametrize(
    "counts", [(30, 15, 3, 12), (4, 9, 8, 2), (500, 40, 27, 33), (0, 7, 0, 5), (1, 0, 0, 1), (9, 4, 4, 9)]
)
def test_the_paired_interval_is_newcombes_of_scipys_wilson_intervals_and_correlation(counts: tuple[int, ...]):
    both, only_first, only_second, neither = counts
    first = np.repeat([1, 1, 0, 0], counts)
    second = np.repeat([1, 0, 1, 0], counts)
    n = len(first)
    ends = [scipy_stats.binomtest(int(x.sum()), n).proportion_ci(0.95, method="wilson") for x in (first, second)]
    phi = scipy_stats.pearsonr(first, second).statistic if 0 < second.mean() < 1 else 0.0
    if phi > 0:  # half a task less for continuity, never below none
        phi = max(0.0, phi - n / 2 / np.sqrt(np.prod([x.sum() * (n - x.sum()) for x in (first, second)], dtype=float)))
    gaps = [(x.mean() - end.low, end.high - x.mean()) for x, end in zip((first, second), ends, strict=True)]
    (p_down, p_up), (q_down, q_up) = gaps
    low, high = (np.sqrt(x * x - 2 * phi * x * y + y * y) for x, y in ((p_down, q_up), (p_up, q_down)))
    difference = first.mean() - second.mean()
    assert newcombe_paired(both, only_first, only_second, neither) == pytest.approx(
        (difference - low, difference + high), abs=1e-9
    )


@pytest.mark.parametrize("chances", [(0.5, 0.2, 0.1, 0.2), (0.8, 0.1, 0.05, 0.05), (0.3, 0.3, 0.1, 0.3)])
def test_the_paired_interval_covers_the_truth_about_as_often_as_it_says(chances: tuple[float, ...]):
    n, truth, covered = 15, chances[1] - chances[2], 0.0
    for a, b, c in product(range(n + 1), repeat=3):
        if a + b + c > n:
            continue
        d = n - a - b - c
        ways = comb(n, a) * comb(n - a, b) * comb(n - a - b, c)
        low, high = newcombe_paired(a, b, c, d)
        if low <= truth <= high:
            covered += ways * float(np.prod(np.array(chances) ** (a, b, c, d)))
    assert 0.935 < covered < 0.99


def of_counts(both: int, only_first: int, only_second: int, neither: int) -> Paired:
    first = [True] * (both + only_first) + [False] * (only_second + neither)
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return paired(first, second)


@pytest.mark.parametrize("counts", [(500, 45, 20, 35), (10, 5, 2, 3), (0, 3, 1, 100), (300, 20, 18, 262)])
def test_the_tasks_that_are_said_to_separate_two_systems_do_and_not_many_fewer_would(counts: tuple[int, ...]):
    found = of_counts(*counts)
    more = found.more_tasks
    if found.separated:
        assert more == 0
        return
    assert more is not None
    assert more > 0
    for n, separates in ((found.n + more, True), (found.n + more - 1, False)):
        low, high = newcombe_paired(*(count * n / found.n for count in counts))
        assert (low > 0 or high < 0) == separates


def test_the_sentence_says_what_the_numbers_say():
    found = of_counts(500, 40, 27, 33)
    told = found.sentence()
    low, high = (100 * end for end in found.ci95)
    assert told.startswith(f"difference +2.2 points, 95 % interval {low:.1f} to {high:.1f}: not separated; about ")
    assert found.more_tasks is not None
    said = int(told.split("about ")[1].split()[0].replace(",", ""))
    assert found.more_tasks <= said <= 1.1 * found.more_tasks
    assert of_counts(10, 30, 0, 10).sentence().endswith(": separated")
    assert of_counts(10, 30, 0, 10).sentence().startswith("difference +60.0 points")
    assert of_counts(10, 0, 30, 10).sentence().startswith("difference -60.0 points")
    assert of_counts(5, 3, 3, 5).sentence().endswith("not separated; the same number of successes")


def test_the_four_cases_add_up():
    found = of_counts(7, 4, 2, 5)
    assert (found.both, found.neither, found.n) == (7, 5, 18)
    assert found.agreement == 12 / 18
