"""Dropout keyed by sample: the same units fall whoever holds the sample, and others at the next use."""

import pytest
import torch

from dualwm.nets.dropout import Dropout, DropoutKey, keyed

IDS = torch.tensor([3, 8, 0, 5, 7, 1])


def masks(ids: torch.Tensor, calls: int = 1, seed: int = 1, step: int = 2, rows_per_sample: int = 1, width: int = 40):
    layer = Dropout(0.3)
    x = torch.ones(len(ids) * rows_per_sample, width)
    with keyed(layer, DropoutKey(seed, step, ids)):
        return [layer(x) for _ in range(calls)]


def test_a_samples_mask_does_not_depend_on_its_batch_mates_or_on_who_holds_it():
    whole = masks(IDS, calls=3)
    for mine in ([0, 1, 2], [3, 4, 5], [5, 0]):
        for part, full in zip(masks(IDS[mine], calls=3), whole, strict=True):
            assert torch.equal(part, full[mine])


def test_rows_of_one_sample_travel_together():
    whole = masks(IDS, rows_per_sample=4)[0].view(6, 4, -1)
    part = masks(IDS[2:4], rows_per_sample=4)[0].view(2, 4, -1)
    assert torch.equal(part, whole[2:4])
    assert not torch.equal(part[0, 0], part[0, 1]), "rows of a sample drop different units"


def test_calls_steps_seeds_and_samples_drop_different_units():
    first, second = masks(IDS, calls=2)
    others = [second, masks(IDS, step=3)[0], masks(IDS, seed=2)[0], masks(IDS + 1)[0]]
    assert not any(torch.equal(first, other) for other in others)
    assert not torch.equal(first[0], first[1])


def test_no_mask_of_a_step_returns_in_another_however_many_uses_it_has():
    """A ten-step rollout uses dropout hundreds of times in one training step."""
    ids = torch.arange(2)
    seen = {mask.numpy().tobytes() for step in range(3) for mask in masks(ids, calls=400, step=step)}
    assert len(seen) == 3 * 400


def test_the_kept_share_is_one_minus_p_and_the_mean_is_kept():
    out = torch.stack(masks(torch.arange(200), calls=10, width=100))
    assert set(out.unique().tolist()) == {0.0, torch.tensor(1 / 0.7).item()}
    assert abs(float((out > 0).float().mean()) - 0.7) < 0.005
    assert abs(float(out.mean()) - 1.0) < 0.01
    per_unit = (out > 0).float().mean((0, 1))
    assert (per_unit - 0.7).abs().max() < 0.06, "no unit is favoured"


def test_it_rests_in_evaluation_and_without_probability():
    x = torch.ones(4, 3)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


def test_training_without_a_key_is_refused():
    with pytest.raises(AssertionError, match="keyed"):
        Dropout(0.5)(torch.ones(4, 3))


def test_the_key_is_taken_back_at_the_end():
    layer = Dropout(0.5)
    with keyed(layer, DropoutKey(0, 0, torch.arange(4))):
        layer(torch.ones(4, 3))
    assert layer.key is None
