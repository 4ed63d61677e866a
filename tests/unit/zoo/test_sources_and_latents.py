"""What stages read: normalised windows, and latents that are encoded once and found again."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import zoo_toy

from dualwm.data.collect import collect
from dualwm.data.store import Store
from dualwm.envs.base import episodes
from dualwm.train.progress import Silent
from dualwm.zoo.dual_wm import encode_clip
from dualwm.zoo.latents import LatentCache
from dualwm.zoo.method import TrainingInputs
from dualwm.zoo.sources import window_sources
from dualwm.zoo.training import train

METHOD = zoo_toy.method()
INDICES = np.array([5, 0, 17])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return zoo_toy.data(tmp_path_factory.mktemp("data") / "set")


@pytest.fixture(scope="module")
def inputs(store: Store) -> TrainingInputs:
    return zoo_toy.inputs(store, METHOD)


def test_windows_are_normalised_and_blocks_never_taken_are_the_mean_action(inputs: TrainingInputs):
    train_source, heldout = window_sources(inputs, METHOD.sees, frame_skip=5, low_steps=4)
    raw, read = train_source.windows.read(INDICES), train_source.read(INDICES)
    scale = inputs.normalizer.scales["action"]
    known = ~raw["actions"].isnan()
    expected = (raw["actions"].unflatten(-1, (5, 2)) - torch.tensor(scale.mean)) / torch.tensor(scale.std)
    torch.testing.assert_close(read["actions"][known], expected.flatten(-2)[known])
    assert (read["actions"][~known] == 0).all()
    assert len(train_source) > len(heldout) > 0
    apart = set(train_source.windows.episodes.tolist()) & set(heldout.windows.episodes.tolist())
    assert not apart


def test_cached_latents_are_those_of_the_frames_of_their_windows(inputs: TrainingInputs, tmp_path: Path):
    model = zoo_toy.stirred(METHOD)
    cache = LatentCache.make(tmp_path, model, inputs)
    latents, _ = cache.sources(frame_skip=5, low_steps=6)
    frames, _ = window_sources(inputs, METHOD.sees, frame_skip=5, low_steps=6)
    assert len(latents) == len(frames)
    with torch.no_grad():
        expected = encode_clip(model, frames.read(INDICES))
    found = latents.read(INDICES)
    torch.testing.assert_close(found["latents"], expected)
    assert torch.equal(found["actions"], frames.read(INDICES)["actions"])


def test_a_cache_is_found_again_continued_or_made_anew(inputs: TrainingInputs, tmp_path: Path, monkeypatch):
    model = zoo_toy.stirred(METHOD)
    monkeypatch.setattr("dualwm.zoo.latents._CHUNK", 64)
    encoded: list[int] = []
    real = LatentCache._encode
    monkeypatch.setattr(LatentCache, "_encode", lambda *args: encoded.append(int(args[2][0])) or real(*args))
    LatentCache.make(tmp_path, model, inputs)
    everything, whole = list(encoded), np.load(tmp_path / "low.npy").copy()
    assert everything == list(range(0, inputs.store.total_rows, 64))

    encoded.clear()
    LatentCache.make(tmp_path, model, inputs)
    assert encoded == []

    note = json.loads((tmp_path / "low.json").read_text())
    (tmp_path / "low.json").write_text(json.dumps({**note, "done": 128}))
    np.lib.format.open_memmap(tmp_path / "low.npy", mode="r+")[128:] = 0
    LatentCache.make(tmp_path, model, inputs)
    assert encoded == everything[2:]
    assert np.array_equal(np.load(tmp_path / "low.npy"), whole)

    encoded.clear()
    LatentCache.make(tmp_path, zoo_toy.stirred(METHOD, seed=1), inputs)
    assert encoded == everything
    assert not np.array_equal(np.load(tmp_path / "low.npy"), whole)


def test_shuffled_state_columns_leave_training_as_it_was_to_the_bit(tmp_path: Path):
    """Models see pixels, actions and declared proprio only; here the pixels are stored, so no state is even drawn."""
    outs: list[dict[str, torch.Tensor]] = []
    for name in ("as recorded", "shuffled"):
        store = collect(
            zoo_toy.WORLD, tmp_path / name, record=partial(episodes, zoo_toy.WORLD), episodes=10, seed=0,
            max_env_steps=80, stored_size=16,
        )  # fmt: skip
        if name == "shuffled":
            (spec,) = store.columns_of("state")
            for file in (tmp_path / name).rglob(f"{spec.name}.*"):
                data = np.fromfile(file, np.dtype(spec.dtype))
                np.random.default_rng(0).permutation(data).tofile(file)
            states = (Store.open(tmp_path / n).read_rows(spec.name, np.arange(9)) for n in ("as recorded", name))
            assert not np.array_equal(*states)
        recipe = replace(zoo_toy.recipe(METHOD), episodes=10, world="")
        done = train(recipe, tmp_path / f"run {name}", tmp_path / name, progress=Silent(), device="cpu")
        assert done.system is not None
        outs.append(dict(done.system.model.state_dict()))
    assert all(torch.equal(outs[0][name], outs[1][name]) for name in outs[0])
