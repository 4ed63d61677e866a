import json
import time
from dataclasses import replace

import pytest
import torch
from train_toy import SETTINGS, High, Low, Toy

from dualwm.errors import RecipeError
from dualwm.train.distributed import choose_device, start
from dualwm.train.estimate import estimate
from dualwm.train.memory import free_bytes, resident_bytes
from dualwm.train.progress import Silent
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

    (stage,) = estimate(Toy(), [Slow()], seed=0, steps=100, patience_s=0.0).stages
    assert stage.timed_samples < stage.batch_size
    assert len(calls) == 2 + 5, "two forward passes find the part to time, five steps are timed"


def test_optimiser_memory_counts_trained_parameters_once():
    model = Toy()
    (low, high) = estimate(model, [Low(), High()], seed=0, steps=2).stages
    assert low.optimiser_bytes == 3 * 4 * sum(p.numel() for p in model.body.parameters())
    assert high.optimiser_bytes == 3 * 4 * sum(p.numel() for p in model.head.parameters())


def test_the_memory_taken_and_left_is_plausible():
    assert 50e6 < resident_bytes() < 50e9
    assert 1e6 < free_bytes(torch.device("cpu")) < 1e14


class Proportional(Low):
    """Each sample takes 3 ms and holds 4 MB."""

    def terms(self, model, batch, step):
        time.sleep(0.003 * len(batch["x"]))
        terms = super().terms(model, batch, step)
        held = torch.ones(len(batch["x"]), 1_000_000) * terms["fit"]
        return terms | {"fit": held.square().mean().sqrt()}


def test_what_does_not_fit_is_timed_in_part_scaled_and_said(monkeypatch):
    """Twice the samples may take half of the free memory, gradients included: 150 MB allow one doubling at most."""
    monkeypatch.setattr("dualwm.train.estimate.free_bytes", lambda device: 150_000_000)
    progress, said = Silent(), []
    monkeypatch.setattr(progress, "note", said.append)
    settings = replace(SETTINGS, steps=1000, batch_size=64)
    found = estimate(Toy(), [Proportional(settings)], seed=0, steps=2, progress=progress)
    (stage,) = found.stages
    assert stage.timed_samples in (4, 8)
    assert stage.step_ms >= 64 * 3
    assert stage.activation_bytes > 200e6
    assert f"scaled from {stage.timed_samples} of 64 samples" in found.text()
    assert any(f"{stage.timed_samples} of its 64 samples" in note for note in said)


def test_stages_on_a_share_of_the_data_cost_as_much_as_on_all_of_it_to_prepare():
    class Told(High):
        def rehearsal(self, model):
            return Rehearsal(source=super().rehearsal(model).source, prepare_s=3.0, disk_bytes=500)

    (stage,) = estimate(Toy(), [Told()], seed=0, steps=2, data_share=0.01).stages
    assert (stage.prepare_s, stage.disk_bytes) == (pytest.approx(300), 50_000)


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
