import json
import math

import pytest
import torch

from dualwm.train.alarm import Alarms
from dualwm.train.distributed import Processes
from dualwm.train.metrics import _finite
from dualwm.train.stage import Watch
from dualwm.train.vitals import Vitals, measure, spread


def vitals(**changes):
    return Vitals(loss=1.0, terms={"fit": 1.0}, **changes)


def gaussian(rows=2000, width=8):
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(0))


def test_a_round_cloud_has_full_effective_rank_and_a_line_has_one():
    assert spread(gaussian()).effective_rank == pytest.approx(8, rel=0.01)
    line = gaussian(width=1) * torch.arange(1.0, 9.0)
    assert spread(line).effective_rank == pytest.approx(1, abs=0.01)
    plane = gaussian(width=2) @ torch.linalg.qr(gaussian(8, 8)).Q[:2]
    assert spread(plane).effective_rank == pytest.approx(2, rel=0.01)


def test_the_spread_tells_smallest_and_mean_deviation_about_the_mean():
    latents = gaussian(width=2) * torch.tensor([3.0, 0.5]) + 100
    assert spread(latents).std_min == pytest.approx(0.5, rel=0.05)
    assert spread(latents).std_mean == pytest.approx(1.75, rel=0.05)


def test_a_single_wide_dimension_is_a_spread_too():
    assert spread(gaussian(width=1)).effective_rank == pytest.approx(1)


def test_measuring_takes_every_number_of_a_watch():
    watch = Watch(
        rollout_error={"low": torch.tensor([0.1, 0.2]), "high": torch.tensor([0.3])},
        latents={"low": gaussian()},
        kl_per_dim=torch.tensor([0.5, 0.0]),
        values={"probe_px": torch.tensor(1.5)},
    )
    seen = measure(watch, torch.tensor(2.0), {"fit": torch.tensor(2.0)}, Processes())
    assert seen.rollout_error == {"low": pytest.approx((0.1, 0.2)), "high": pytest.approx((0.3,))}
    assert seen.kl_per_dim == (0.5, 0.0)
    assert seen.values == {"probe_px": (1.5,)}
    assert seen.spread["low"].width == 8
    assert Vitals.from_plain(json.loads(json.dumps(seen.to_plain()))) == seen


def test_numbers_that_are_not_finite_survive_json_as_nan():
    broken = vitals(rollout_error={"low": (math.nan, 1.0)}, spread={"low": spread(gaussian() * math.nan)})
    back = Vitals.from_plain(json.loads(json.dumps(_finite(broken.to_plain()), allow_nan=False)))
    assert math.isnan(back.rollout_error["low"][0])
    assert math.isnan(back.spread["low"].std_mean)


def test_healthy_vitals_set_off_no_alarm():
    healthy = vitals(
        spread={"low": spread(gaussian()), "high": spread(gaussian())},
        kl_per_dim=(0.3, 0.2),
        rollout_error={"low": (0.1,)},
    )
    alarms = Alarms()
    assert alarms.look(healthy) + alarms.look(healthy) + alarms.waiting(0.1) == []


@pytest.mark.parametrize("level", ["low", "high"])
def test_latents_collapsed_to_a_point_are_named_with_their_level(level):
    (alarm,) = Alarms().look(vitals(spread={level: spread(0.01 * gaussian())}))
    assert f"The {level} latents have collapsed to a point" in alarm


def test_latents_collapsed_to_a_line_are_named():
    line = gaussian(width=1) * torch.ones(64)
    (alarm,) = Alarms().look(vitals(spread={"high": spread(line)}))
    assert "The high latents have collapsed to few directions: effective rank 1.0 of 64" in alarm


def test_latents_of_one_dimension_are_no_collapse():
    assert Alarms().look(vitals(spread={"low": spread(gaussian(width=1))})) == []


def test_latents_that_are_not_numbers_set_off_the_alarm():
    assert Alarms().look(vitals(spread={"low": spread(gaussian() * math.nan)}))


def test_dead_macro_dimensions_are_counted_and_named():
    (alarm,) = Alarms().look(vitals(kl_per_dim=(0.001, 0.5, 0.0, 0.002)))
    assert "3 of 4 macro dimensions are dead (0, 2, 3)" in alarm
    (alarm,) = Alarms().look(vitals(kl_per_dim=(0.0, 0.0)))
    assert "all of them" in alarm
    assert Alarms().look(vitals(kl_per_dim=(0.001, 0.5, 0.001, 0.5))) == []


def test_an_exploding_rollout_error_is_told_against_its_best():
    alarms = Alarms()
    assert alarms.look(vitals(rollout_error={"low": (0.1, 0.3), "high": (5.0,)})) == []
    assert alarms.look(vitals(rollout_error={"low": (0.2, 0.6), "high": (5.0,)})) == []
    (alarm,) = alarms.look(vitals(rollout_error={"low": (1.0, 7.0), "high": (5.0,)}))
    assert "The low rollout error explodes: 4 on average over 2 steps, 20 times its best so far" in alarm
    (alarm,) = alarms.look(vitals(rollout_error={"low": (math.nan,)}))
    assert "explodes" in alarm


def test_a_run_bound_by_its_data_is_told():
    (alarm,) = Alarms().waiting(0.7)
    assert "Waiting for data 70% of the time" in alarm
