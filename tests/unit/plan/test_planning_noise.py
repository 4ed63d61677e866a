"""Planning noise: a function of what it is for, and of nothing else."""

from dataclasses import replace

import numpy as np
import torch

from dualwm.plan.noise import SEARCHES, Noise


def make(tasks: list[int], decisions: list[int] | None = None, seed: int = 1, search: int = 2) -> Noise:
    return Noise(seed, np.array(tasks), np.array(decisions or [0] * len(tasks)), search)


def test_a_tasks_noise_depends_on_its_id_and_not_on_its_batch_mates():
    together = make([7, 3, 199]).normal(4, (5, 2))
    for row, task in enumerate([7, 3, 199]):
        assert torch.equal(make([task]).normal(4, (5, 2))[0], together[row])
    assert torch.equal(make([199, 7]).gumbel(4, (5,)), make([7, 199]).gumbel(4, (5,)).flip(0))


def test_everything_it_is_for_changes_it():
    base = make([7])
    others = [
        make([8]), make([7], [1]), make([7], seed=2), make([7], search=3), make([1], seed=7), make([7], search=1),
    ]  # fmt: skip
    first = base.normal(0, (50,))
    assert torch.equal(first, base.normal(0, (50,)))
    for other in [*(o.normal(0, (50,)) for o in others), base.normal(1, (50,))]:
        assert not torch.equal(first, other)
        assert not np.isin(first.numpy(), other.numpy()).any(), "not even shifted"


def test_a_longer_draw_begins_like_a_shorter_one_and_never_reaches_the_next_iteration():
    noise = make([7])
    long, short = noise.normal(0, (100_000,))[0], noise.normal(1, (1000,))[0]
    assert not np.isin(short.numpy()[:10], long.numpy()).all()
    assert torch.equal(noise.normal(0, (10,))[0], long[:10])


def test_searches_have_numbers_of_their_own():
    assert len(set(SEARCHES.values())) == len(SEARCHES) == 3


def test_numbers_have_the_moments_they_should():
    noise = make(list(range(20)))
    normal, gumbel = noise.normal(0, (5000,)), noise.gumbel(0, (5000,))
    assert abs(float(normal.mean())) < 0.02
    assert abs(float(normal.std()) - 1) < 0.02
    assert abs(float(gumbel.mean()) - 0.5772) < 0.02
    assert replace(noise, seed=5).normal(0, (1,)).dtype == torch.float32


def test_whole_numbers_cover_their_range_and_are_keyed_like_the_others():
    drawn = make([7, 3]).integers(0, 5, (200,))
    assert set(drawn.unique().tolist()) == {0, 1, 2, 3, 4}
    assert torch.equal(make([3]).integers(0, 5, (200,))[0], drawn[1])
