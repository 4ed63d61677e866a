import json
from pathlib import Path

import numpy as np
import pytest
import torch
from data_toy import write

from dualwm.data.normalize import Normalizer
from dualwm.data.schema import StoreMeta
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.errors import DataError
from dualwm.records import ColumnSpec, Episode


def store_of(path: Path, *episodes: np.ndarray) -> Store:
    """Episodes of a single action column; the last row's action is never taken."""
    spec = ColumnSpec(name="action", kind="array", dtype="float32", shape=(episodes[0].shape[1],), role="action")
    with Writer(path, StoreMeta(columns=(spec,))) as writer:
        never = np.full((1, spec.shape[0]), np.nan, np.float32)
        rows = [np.concatenate([one.astype(np.float32), never]) for one in episodes]
        writer.append([Episode(id=i, seed=i, source="", columns={"action": one}) for i, one in enumerate(rows)])
    return Store.open(path)


RANDOM = np.random.default_rng(3)
TRAIN = [RANDOM.normal((5, -1), (3, 0.1), (40, 2)) for _ in range(3)]
OTHER = [np.full((20, 2), 1e6)]


@pytest.fixture
def normalizer(tmp_path) -> Normalizer:
    return Normalizer.fit(store_of(tmp_path / "set", *TRAIN, *OTHER), [0, 1, 2], ["action"])


def test_it_is_fitted_on_the_given_episodes_only_without_the_rows_that_are_nan(normalizer):
    rows = np.concatenate(TRAIN).astype(np.float32).astype(np.float64)
    np.testing.assert_allclose(normalizer.scales["action"].mean, rows.mean(0), rtol=1e-12)
    np.testing.assert_allclose(normalizer.scales["action"].std, rows.std(0, ddof=0), rtol=1e-12)


def test_normalised_training_rows_have_mean_0_and_deviation_1(normalizer):
    scaled = normalizer.normalize("action", np.concatenate(TRAIN))
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0), 1, atol=1e-6)


def test_the_order_of_episodes_does_not_matter(tmp_path):
    store = store_of(tmp_path / "set", *TRAIN)
    assert Normalizer.fit(store, [2, 0, 1], ["action"]) == Normalizer.fit(store, [0, 1, 2], ["action"])


def test_many_chunks_give_the_fit_of_one(tmp_path, monkeypatch):
    store = store_of(tmp_path / "set", *TRAIN)
    whole = Normalizer.fit(store, [0, 1, 2], ["action"]).scales["action"]
    monkeypatch.setattr("dualwm.data.store._CHUNK_BYTES", 8)
    parts = Normalizer.fit(store, [0, 1, 2], ["action"]).scales["action"]
    np.testing.assert_allclose(whole.mean + whole.std, parts.mean + parts.std, rtol=1e-13)


@pytest.mark.parametrize("make", [lambda x: torch.from_numpy(x), lambda x: x], ids=["torch", "numpy"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_denormalising_inverts_normalising_in_the_same_type(normalizer, make, dtype):
    values = make(RANDOM.normal(size=(4, 3, 2)).astype(dtype))
    scaled = normalizer.normalize("action", values)
    back = normalizer.denormalize("action", scaled)
    assert type(back) is type(values)
    assert back.dtype == values.dtype
    np.testing.assert_allclose(np.asarray(back), np.asarray(values), atol=1e-5)
    assert np.abs(np.asarray(scaled) - np.asarray(values)).max() > 0.1


@pytest.mark.parametrize("make", [lambda x: torch.from_numpy(x), lambda x: x], ids=["torch", "numpy"])
def test_blocks_are_their_rows_side_by_side(normalizer, make):
    rows = RANDOM.normal(size=(6, 5, 3, 2)).astype(np.float32)
    blocks = normalizer.normalize_blocks("action", make(rows.reshape(6, 5, 6)))
    by_row = normalizer.normalize("action", make(rows))
    np.testing.assert_array_equal(np.asarray(blocks).reshape(6, 5, 3, 2), np.asarray(by_row))
    np.testing.assert_allclose(np.asarray(normalizer.denormalize("action", blocks)), rows.reshape(6, 5, 6), atol=1e-5)


@pytest.mark.parametrize("make", [lambda x: torch.from_numpy(x), lambda x: x], ids=["torch", "numpy"])
def test_actions_never_taken_become_the_mean_action(normalizer, make):
    blocks = np.array([[1.0, 2.0, np.nan, np.nan]], np.float32)
    scaled = np.asarray(normalizer.normalize_blocks("action", make(blocks)))
    assert scaled[0, 2:].tolist() == [0, 0]
    assert np.asarray(normalizer.denormalize("action", make(scaled)))[0, 2:] == pytest.approx(
        normalizer.scales["action"].mean
    )
    assert np.isnan(np.asarray(normalizer.normalize("action", make(blocks)))[0, 2:]).all()


def test_one_hot_columns_are_left_alone(tmp_path):
    choices = np.eye(4)[RANDOM.integers(0, 4, 30)]
    normalizer = Normalizer.fit(store_of(tmp_path / "set", choices), [0], ["action"])
    assert normalizer.scales["action"].one_hot
    values = torch.eye(4)
    assert torch.equal(normalizer.normalize("action", values), values)


def test_a_column_of_zeros_and_ones_that_is_not_one_hot_is_scaled(tmp_path):
    rows = np.array([[1, 1], [0, 1], [0, 0], [1, 0]] * 3)
    assert not Normalizer.fit(store_of(tmp_path / "set", rows), [0], ["action"]).scales["action"].one_hot


def test_a_constant_component_is_centred_and_never_blown_up(tmp_path):
    rows = np.stack([np.arange(10.0), np.full(10, 3.0)], axis=1)
    normalizer = Normalizer.fit(store_of(tmp_path / "set", rows), [0], ["action"])
    assert normalizer.normalize("action", np.array([[0.0, 3.0]]))[0, 1] == 0
    assert normalizer.normalize("action", np.array([[0.0, 3.5]]))[0, 1] == 0.5
    (warning,) = normalizer.warnings()
    assert "'action' never changes in component 1" in warning


def test_json_keeps_every_bit(normalizer):
    back = Normalizer.from_plain(json.loads(json.dumps(normalizer.to_plain())), "normalizer.json")
    assert back == normalizer


@pytest.mark.parametrize(
    "plain", [{}, {"scales": {"action": {}}}, {"scales": {"a": {"mean": [0], "std": [0]}}, "fitted_on": {}}]
)
def test_damaged_normaliser_files_are_named(plain):
    with pytest.raises(DataError, match=r"normalizer\.json should hold a normaliser"):
        Normalizer.from_plain(plain, "normalizer.json")


def test_infinite_numbers_are_not_fitted(tmp_path):
    rows = np.array([[0.0], [np.inf], [1.0]])
    with pytest.raises(DataError, match="should have finite numbers"):
        Normalizer.fit(store_of(tmp_path / "set", rows), [0], ["action"])


def test_proprio_columns_of_other_types_can_be_fitted(tmp_path):
    store = write(tmp_path / "set", [5, 6])
    normalizer = Normalizer.fit(store, [0, 1], ["action", "joints", "clock"])
    assert normalizer.scales["clock"].mean == (pytest.approx(np.mean([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 5])),)
    with pytest.raises(DataError, match="Did you mean 'joints'"):
        normalizer.normalize("joint", torch.zeros(1, 3))
