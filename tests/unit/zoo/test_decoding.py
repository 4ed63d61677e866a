"""The decoder: it learns what latents show, keeps it in a file, and refuses other latents."""

import json
from pathlib import Path

import numpy as np
import pytest
import viewed_run
import zoo_toy

from dualwm.cli.main import main
from dualwm.cli.view import Viewer
from dualwm.errors import RecipeError, SystemFolderError
from dualwm.records import read_outcomes
from dualwm.zoo.decoding import SIDE, Decoder, DecoderSettings, train_decoder
from dualwm.zoo.system import Bank, System

QUICK = DecoderSettings(episodes=10, steps=60, batch_size=32, channels=8, learning_rate=1e-2)


class Plain(System):
    """A system whose latents are where the agent is: everything that there is to draw."""

    def describe_states(self, states):
        return {"low": (states / 100 - 1).astype(np.float32)}

    @property
    def bank(self) -> Bank:
        states = np.random.default_rng(0).uniform(30, 190, (20, 2)).astype(np.float32)
        return Bank(states, self.describe_states(states))


def plain() -> Plain:
    return Plain(**{name: value for name, value in vars(zoo_toy.system()).items() if name != "world"})


def test_a_decoder_learns_to_draw_held_out_frames_the_same_way_every_time():
    system = plain()
    untaught, _ = train_decoder(system, DecoderSettings(episodes=10, steps=1, channels=8, learning_rate=1e-9))
    decoder, found = train_decoder(system, QUICK)
    again, _ = train_decoder(system, QUICK)
    places = np.array([[60.0, 60.0], [160.0, 170.0]])
    truth, latents = system.world.draw(places, SIDE).astype(int), system.describe_states(places)["low"]
    drawn = decoder.draw("low", latents)
    assert (drawn == again.draw("low", latents)).all()
    error, before = (np.abs(one.draw("low", latents) - truth).mean() for one in (decoder, untaught))
    assert error < 0.8 * before
    assert found["low"].decoder > 0
    with pytest.raises(RecipeError, match="not 'high'"):
        decoder.draw("high", latents)


def test_the_file_holds_the_decoder_and_the_weights_it_belongs_to(tmp_path: Path):
    system = plain()
    decoder, _ = train_decoder(system, DecoderSettings(episodes=10, steps=2, channels=4))
    decoder.save(tmp_path / "decoder.safetensors")
    read = Decoder.load(tmp_path / "decoder.safetensors", system.weights_digest)
    latents = np.random.default_rng(1).normal(size=(5, 2)).astype(np.float32)
    assert (read.draw("low", latents) == decoder.draw("low", latents)).all()
    with pytest.raises(SystemFolderError, match="Train a decoder of this system"):
        Decoder.load(tmp_path / "decoder.safetensors", "0" * 64)
    (tmp_path / "other.safetensors").write_bytes((tmp_path / "decoder.safetensors").read_bytes()[:-8])
    with pytest.raises(SystemFolderError):
        Decoder.load(tmp_path / "other.safetensors", system.weights_digest)
    with pytest.raises(RecipeError, match="at least 10 episodes"):
        DecoderSettings(episodes=3)


def test_the_command_trains_one_and_the_viewer_shows_what_it_draws(tmp_path: Path, capsys):
    with viewed_run.compared(tmp_path) as run:
        capsys.readouterr()
        assert main(["train-decoder", "toy", "--episodes", "10", "--steps", "2", "--json"]) == 0
        assert set(json.loads(capsys.readouterr().out)["rmse"]) == {"low", "high"}
        one = next(o for o in read_outcomes(run / "outcomes.jsonl") if o.system == "toy")
        words = {"system": "toy", "offset": "25", "seed": "0", "task": str(one.task)}
        drawn = Viewer(run, decoder=Path("decoder.safetensors")).page("/episode", words)
        assert drawn is not None
        assert '"imagined_says":"drawn by the decoder"' in drawn
        assert drawn != Viewer(run).page("/episode", words)
