"""Resampling seeds and tasks: against enumeration where there are few, against the binomial for a single seed."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from dualwm.bootstrap import estimate, resampled_means, spread, standard_error


def generator() -> np.random.Generator:
    return np.random.default_rng(0)


def every_mean(seeds: list[NDArray[np.float64]]) -> list[float]:
    """All equally likely resampled means of seeds with equally many tasks."""
    means: list[float] = []
    for drawn in product(seeds, repeat=len(seeds)):
        tasks = [list(product(values, repeat=len(values))) for values in drawn]
        means += [float(np.mean([np.mean(some) for some in chosen])) for chosen in product(*tasks)]
    return means


SMALL = [np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0])]


def test_the_standard_error_is_that_of_all_resamples():
    assert standard_error(SMALL) == pytest.approx(np.std(every_mean(SMALL)), abs=1e-9)


def test_resampled_means_fall_as_often_as_enumeration_says():
    truth, counts = np.unique(np.round(every_mean(SMALL), 9), return_counts=True)
    drawn, found = np.unique(np.round(resampled_means(SMALL, generator(), 40_000), 9), return_counts=True)
    assert drawn.tolist() == truth.tolist()
    assert found / 40_000 == pytest.approx(counts / counts.sum(), abs=0.01)


def test_one_seed_of_successes_is_the_binomial():
    values = np.repeat([0.0, 1.0], [60, 140])
    drawn = resampled_means([values], generator(), 40_000)
    theirs = scipy_stats.binom(200, 0.7)
    assert standard_error([values]) == pytest.approx(theirs.std() / 200, abs=1e-9)
    for level in (0.025, 0.3, 0.5, 0.975):
        assert np.quantile(drawn, level) == pytest.approx(theirs.ppf(level) / 200, abs=1 / 200)


def test_seeds_that_differ_widen_the_interval_beyond_what_tasks_alone_would():
    agreeing = [np.repeat([0.0, 1.0], [50, 50])] * 3
    differing = [np.repeat([0.0, 1.0], [n, 100 - n]) for n in (20, 50, 80)]
    narrow, wide = estimate([agreeing]), estimate([differing])
    assert narrow.mean == wide.mean == pytest.approx(0.5)
    assert wide.ci95[1] - wide.ci95[0] > 2 * (narrow.ci95[1] - narrow.ci95[0])
    assert narrow.ci95[1] - narrow.ci95[0] == pytest.approx(2 * 1.96 * standard_error(agreeing), rel=0.05)


def test_seeds_and_worlds_weigh_the_same_however_many_tasks_they_have():
    uneven = [np.ones(10), np.zeros(90)]
    assert estimate([uneven]).mean == 0.5
    assert estimate([uneven, [np.ones(3)]]).mean == 0.75


def test_worlds_are_not_drawn_so_certain_worlds_give_a_certain_mean():
    found = estimate([[np.ones(5)], [np.zeros(5)]])
    assert (found.mean, found.ci95) == (0.5, (0.5, 0.5))
    assert not estimate([[np.array([1.0, -1.0, 0.0, 0.0])]]).separated
    assert estimate([[np.ones(20)]]).separated


def test_the_same_values_give_the_same_interval():
    values = [np.arange(30) % 3 == 0, np.arange(30) % 2 == 0]
    assert estimate([values]) == estimate([values])


def test_the_spread_of_seeds_is_the_papers():
    # Three seeds of 200 tasks of which one has one success more: the smallest plus-minus in the paper's tables, 0.24.
    seeds = [np.repeat([1.0, 0.0], [n, 200 - n]) for n in (150, 150, 151)]
    assert round(100 * spread(seeds), 2) == 0.24
