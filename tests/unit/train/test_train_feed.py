import time

import numpy as np
import pytest
import torch
from train_toy import Samples

from dualwm.data.prefetch import Prefetch
from dualwm.errors import DataError, RecipeError
from dualwm.reduce import Reduce
from dualwm.train.distributed import Processes
from dualwm.train.feed import Feed, InTurn, Order


def test_every_sample_comes_once_per_epoch_and_none_is_dropped():
    order = Order(10, 4, 0, "low")
    drawn = np.concatenate([order.batch(step) for step in range(5)])
    assert sorted(drawn[:10]) == sorted(drawn[10:]) == list(range(10))
    assert (drawn[:10] != drawn[10:]).any()


def test_a_steps_samples_do_not_depend_on_the_steps_before():
    walked = [Order(10, 4, 0, "low").batch(step) for step in range(9)]
    order = Order(10, 4, 0, "low")
    for step in (8, 0, 5, 2):
        assert (order.batch(step) == walked[step]).all()


@pytest.mark.parametrize("world", [1, 2, 4])
def test_the_order_is_independent_of_the_number_of_processes(world):
    parts = [Processes(rank, world).slice(8) for rank in range(world)]
    batches = [list(Order(20, 8, 0, "low").slices(part, range(2, 7))) for part in parts]
    for i, step in enumerate(range(2, 7)):
        assert (np.concatenate([mine[i] for mine in batches]) == Order(20, 8, 0, "low").batch(step)).all()


def test_a_batch_may_be_larger_than_the_source():
    drawn = Order(3, 8, 0).batch(0)
    assert sorted(drawn[:3]) == sorted(drawn[3:6]) == [0, 1, 2]


def test_an_empty_source_is_refused_by_name():
    with pytest.raises(DataError, match="low train: the source holds no samples"):
        Order(0, 4, "low", "train")


def test_a_batch_that_cannot_be_shared_equally_is_refused():
    with pytest.raises(RecipeError, match=r"global batch of 10 samples .* 4 processes"):
        Processes(1, 4).slice(10)


def test_the_plain_feed_reads_in_turn_and_tells_how_long_it_took():
    class Slow(Samples):
        def read(self, indices):
            time.sleep(0.01)
            return super().read(indices)

    feed = InTurn(Slow(), Order(50, 4, 0).slices(slice(0, 4), range(3)))
    assert len(list(feed)) == 3
    assert feed.waited_s >= 0.03


@pytest.mark.parametrize("kind", [InTurn, Prefetch])
def test_plain_and_prefetching_feeds_give_the_same_batches(kind):
    order = Order(50, 4, 0)
    feed = kind(Samples(), order.slices(slice(0, 4), range(3)))
    assert isinstance(feed, Feed)
    for step, batch in enumerate(feed):
        assert (batch["x"] == Samples().read(order.batch(step))["x"]).all()
    assert step == 2


def test_one_process_alone_reduces_nothing():
    x = torch.arange(3.0)
    alone = Processes()
    assert isinstance(alone, Reduce)
    assert alone.sum(x) is x
    assert alone.gather(x, 0) is x
    assert alone.any([True, False]) == (True, False)
