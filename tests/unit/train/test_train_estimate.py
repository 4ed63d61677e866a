import json
import time
from dataclasses import replace

import pytest
import torch
from train_toy import SETTINGS, High, Low, Toy

from dualwm.errors import RecipeError
from dualwm.train.distributed import choose_device, start
from dualwm.train.estimate import estimate, resident_bytes
from dualwm.train.stage import Rehearsal


class Paced(Low):
    """Each step takes 20 ms and holds 40 MB of activations until its backward pass."""

    def terms(self, model, batch, step):
        time.sleep(0.02)
        terms = super().terms(model, batch, step)
        big = torch.ones(10_000_000) * terms["fit"]
        return terms | {"fit": big.square().mean().sqrt()}


def test_a_stage_of_known_pace_is_estimated_within_its_range():
    settings = replace(SETTINGS, steps=1000, heldout_every_steps=1000)
    found = estimate(Toy(), [Paced(settings)], seed=0, steps=2)
    (stage,) = found.stages
    assert stage.seconds[0] >= 20
    assert stage.seconds[0] < stage.seconds[1]
    assert stage.step_ms >= 20
    assert stage.activation_bytes > 30e6
    assert found.hours[0] == pytest.approx(stage.seconds[0] / 3600)


def test_preparation_and_disk_are_what_the_stage_tells():
    class Told(High):
        def rehearsal(self, model):
            return Rehearsal(source=super().rehearsal(model).source, prepare_s=7200.0, disk_bytes=3_000_000_000)

    found = estimate(Toy(), [Low(), Told()], seed=0, steps=3)
    low, high = found.hours
    assert 1.5 < low < high < 3
    assert found.disk_gb == pytest.approx(3, rel=0.01)
    assert "after 2 h 00 min of preparation" in found.text()
    assert "In all: " in found.text()
    assert json.loads(json.dumps(found.to_plain()))["disk_gb"] == found.disk_gb


def test_estimating_writes_nothing_and_leaves_model_and_generator_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model, same = Toy(), Toy()
    state = torch.get_rng_state()
    estimate(model, [Low(), High()], seed=0, steps=2)
    assert all(torch.equal(a, b) for a, b in zip(model.state_dict().values(), same.state_dict().values(), strict=True))
    assert torch.equal(torch.get_rng_state(), state)
    assert not list(tmp_path.iterdir())


def test_slow_steps_are_not_all_waited_for():
    calls = []

    class Slow(Low):
        def terms(self, model, batch, step):
            calls.append(step.step)
            return super().terms(model, batch, step)

    estimate(Toy(), [Slow()], seed=0, steps=100, patience_s=0.0)
    assert len(calls) == 5


def test_optimiser_memory_counts_trained_parameters_once():
    model = Toy()
    (low, high) = estimate(model, [Low(), High()], seed=0, steps=2).stages
    assert low.optimiser_bytes == 3 * 4 * sum(p.numel() for p in model.body.parameters())
    assert high.optimiser_bytes == 3 * 4 * sum(p.numel() for p in model.head.parameters())


def test_the_resident_set_is_plausible():
    assert 50e6 < resident_bytes() < 50e9


def test_without_torchrun_one_process_is_alone(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with start("cpu") as processes:
        assert (processes.rank, processes.world, processes.first) == (0, 1, True)
        assert processes.device.type == "cpu"


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU, so asking for it is no mistake")
def test_a_device_that_is_not_there_is_refused_by_name():
    assert choose_device("auto").type == "cpu"
    with pytest.raises(Exception, match="'cuda:1' was asked for"):
        choose_device("cuda:1")


@pytest.mark.parametrize("device", ["cda", "cuda:", "cpu:x", "meta"])
def test_a_device_of_no_such_name_is_refused_and_the_known_ones_named(device):
    with pytest.raises(RecipeError, match=f"cpu, cuda, mps.*found '{device}'"):
        choose_device(device)
