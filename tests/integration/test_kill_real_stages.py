"""The stages of a real, tiny Dual-WM are killed: in the latent cache, in the System folder, anywhere. Same bits."""

import json
import random
import signal
import time
from pathlib import Path

import kill_toy
import pytest
from train_toy import Server, metrics

from dualwm.zoo.training import recorded


@pytest.fixture(scope="module")
def server():
    with Server(kill_toy.__file__) as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    """The folder of all runs, with their data."""
    folder = tmp_path_factory.mktemp("home")
    recorded(kill_toy.recipe(), folder / "data", "")
    return folder


@pytest.fixture(scope="module")
def uninterrupted(server, home):
    """A run nobody disturbed, and how long it took."""
    assert server.train(home / "warm") == 0
    began = time.perf_counter()
    assert server.train(home / "undisturbed") == 0
    return home / "undisturbed", time.perf_counter() - began


def assert_same_end(out: Path, reference: Path) -> None:
    for name in ("model.safetensors", "bank.safetensors", "latents/low.npy", "normalizer.json", "split.json"):
        assert (out / name).read_bytes() == (reference / name).read_bytes(), name
    assert metrics(out) == metrics(reference)


FOLDER = ("config.json", "provenance.json", "bank.safetensors", "model.safetensors")


@pytest.mark.parametrize(
    "deed", ["run.json#1", "encode#1", "encode#12", "low.json#2", *(f"{name}#1" for name in FOLDER)]
)
def test_killed_at_a_deed_the_run_ends_with_the_same_bits(server, home, uninterrupted, deed):
    out = home / deed
    assert server.train(out, kill_at=deed) == -signal.SIGKILL
    assert not (out / "model.safetensors").exists(), "weights come last"
    if deed == "encode#12":
        assert json.loads((out / "latents/low.json").read_text())["done"] == 8 * kill_toy.CHUNK
    assert server.train(out) == 0
    assert_same_end(out, uninterrupted[0])


def test_killed_at_any_instant_the_run_ends_with_the_same_bits(server, home, uninterrupted):
    reference, seconds = uninterrupted
    chance = random.Random(0)
    kills = number = 0
    while kills < 4:
        number += 1
        assert number < 20, f"only {kills} kills hit a living run of {seconds:.2f} s"
        out = home / f"instant {number}"
        kills += server.train(out, kill_after_s=chance.uniform(0, seconds)) == -signal.SIGKILL
        assert server.train(out) == 0
        assert_same_end(out, reference)
