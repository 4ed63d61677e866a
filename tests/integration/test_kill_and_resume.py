"""A training run is killed for real, continued by the same call, and must end as if nothing had happened."""

import random
import signal
import time

import pytest
from safetensors.torch import load_file
from train_toy import Server, metrics

from dualwm.train.checkpoint import WRITE_POINTS, Position

LAST = Position(2, 0).name


@pytest.fixture(scope="module")
def server():
    with Server() as running:
        yield running


@pytest.fixture(scope="module")
def uninterrupted(server, tmp_path_factory):
    """The end of a run nobody disturbed, and how long it took."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    server.train(out.with_name("warm"))
    began = time.perf_counter()
    assert server.train(out) == 0
    return out, time.perf_counter() - began


def weights(out):
    return (out / "checkpoints" / f"{LAST}.safetensors").read_bytes()


def assert_same_end(out, reference):
    assert weights(out) == weights(reference)
    assert metrics(out) == metrics(reference)
    assert (out / "latents.safetensors").read_bytes() == (reference / "latents.safetensors").read_bytes()


def test_killed_at_random_instants_the_run_ends_with_the_same_bits(server, uninterrupted, tmp_path):
    reference, seconds = uninterrupted
    chance = random.Random(0)
    kills = number = 0
    while kills < 24:
        number += 1
        assert number < 40, f"only {kills} kills hit a living run of {seconds:.2f} s"
        out = tmp_path / str(number)
        # Two kills per run: the second strikes a run that is itself a continuation.
        for share in (1.1, 0.8):
            kills += server.train(out, kill_after_s=chance.uniform(0, share * seconds)) == -signal.SIGKILL
        assert server.train(out) == 0
        assert_same_end(out, reference)


WRITES = [
    f"{position.name}:{point}"
    for position in (Position(0, 5), Position(0, 24), Position(1, 0), Position(1, 10))
    for point in WRITE_POINTS
    if (position, point) != (Position(0, 5), "pruning")  # the first checkpoint finds nothing to prune
]


@pytest.mark.parametrize("write", WRITES)
def test_killed_at_each_write_of_a_checkpoint_the_run_ends_with_the_same_bits(server, uninterrupted, tmp_path, write):
    assert server.train(tmp_path, kill_at=write) == -signal.SIGKILL
    assert server.train(tmp_path) == 0
    assert_same_end(tmp_path, uninterrupted[0])
    assert len(list((tmp_path / "checkpoints").iterdir())) == 4, "two checkpoints and no leftovers"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_polite_stop_loses_no_step_and_the_run_ends_with_the_same_bits(server, uninterrupted, tmp_path, number):
    assert server.train(tmp_path, stop_by=number) == 3, "the child reports an unfinished run"
    assert (tmp_path / "checkpoints" / f"{Position(0, 14).name}.json").exists(), "the step begun was completed"
    assert server.train(tmp_path) == 0
    assert_same_end(tmp_path, uninterrupted[0])


def test_the_last_checkpoint_holds_the_weights_and_no_optimiser(uninterrupted):
    tensors = load_file(uninterrupted[0] / "checkpoints" / f"{LAST}.safetensors")
    assert "model/body.0.weight" in tensors
    assert all(name.startswith("model/") for name in tensors)
