import numpy as np
import pytest
import torch
from scipy.stats import kstest

from dualwm.train.noise import hash64, permutation
from dualwm.train.stage import StepKey


def key(ids, seed=3, step=7):
    return StepKey(seed, step, torch.as_tensor(ids))


def test_a_samples_noise_does_not_depend_on_its_batch_mates():
    whole = key(range(64)).sample_normal((6, 5), "macro")
    assert torch.equal(key(range(32, 64)).sample_normal((6, 5), "macro"), whole[32:])
    assert torch.equal(key([40, 3, 3]).sample_normal((6, 5), "macro"), whole[[40, 3, 3]])


@pytest.mark.parametrize("other", [key(range(64), seed=4), key(range(64), step=8), key(range(64, 128))])
def test_noise_differs_between_seeds_steps_samples_and_words(other):
    here = key(range(64)).sample_normal((8,), "macro")
    correlation = np.corrcoef(here.ravel(), other.sample_normal((8,), "macro").ravel())[0, 1]
    assert abs(correlation) < 0.15
    assert not torch.equal(here, key(range(64)).sample_normal((8,), "action"))


def test_sample_noise_is_standard_normal_within_and_across_samples():
    noise = key(range(2000)).sample_normal((25,), "x").numpy()
    assert noise.dtype == np.float32
    assert kstest(noise.ravel(), "norm").pvalue > 0.01
    assert kstest(noise[:, 0], "norm").pvalue > 0.01
    correlations = np.corrcoef(noise.T) - np.eye(25)
    assert abs(correlations).max() < 0.12


def test_uniform_noise_fills_the_half_open_unit_interval():
    noise = key(range(5000)).sample_uniform((10,), "x").numpy()
    assert kstest(noise.ravel(), "uniform").pvalue > 0.01
    assert noise.min() >= 0
    assert noise.max() < 1


def test_a_scalar_per_sample_is_a_vector():
    assert key(range(9)).sample_normal((), "x").shape == (9,)


def test_shared_noise_is_the_same_for_every_slice_of_the_batch():
    one, two = (key(ids).generator("projections") for ids in (range(4), range(4, 8)))
    assert torch.equal(torch.randn(3, generator=one), torch.randn(3, generator=two))
    assert key([0]).generator("a").initial_seed() != key([0]).generator("b").initial_seed()


def test_different_words_never_hash_alike():
    words = [(1,), ("1",), (1, 2), (12,), ("1", "2"), ("12",), ("a", "b"), ("a\x1fb",), ("ab", ""), ("", "ab"), ()]
    assert len({hash64(*w) for w in words}) == len(words)


def test_a_permutation_is_a_function_of_its_words():
    order = permutation(100, 0, "low", 1)
    assert sorted(order) == list(range(100))
    assert (order == permutation(100, 0, "low", 1)).all()
    assert (order != permutation(100, 0, "low", 2)).any()
