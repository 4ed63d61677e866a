from itertools import pairwise

import numpy as np
import pytest
from data_toy import IntegratorWorld, draw, files

from dualwm.data.collect import collect
from dualwm.data.collections import COLLECTIONS, collection, collection_of, first_seed
from dualwm.data.store import Store
from dualwm.errors import DataError
from dualwm.files import only_writer

WORLD = IntegratorWorld()


def record_into(path, episodes: int, world: IntegratorWorld = WORLD, **settings) -> Store:
    made = {"record": world.record, "seed": 20, "max_env_steps": 6, "shard_bytes": 500} | settings
    return collect(world, path, episodes=episodes, **made)


def test_episode_i_is_recorded_with_the_first_seed_plus_i(tmp_path):
    store = record_into(tmp_path / "set", 5)
    assert store.seeds.tolist() == [20, 21, 22, 23, 24]
    for number in range(5):
        expected = WORLD.record([20 + number], 6)[0]
        for name, rows in store.episode(number).columns.items():
            np.testing.assert_array_equal(rows, expected[name])


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    assert record_into(tmp_path / "a", 70).digest == record_into(tmp_path / "b", 70).digest
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert record_into(tmp_path / "c", 70, seed=21).digest != Store.open(tmp_path / "a").digest


def test_stopping_and_continuing_gives_the_bytes_of_one_go(tmp_path, monkeypatch):
    monkeypatch.setattr("dualwm.data.collect._TOGETHER", 3)
    record_into(tmp_path / "one go", 20)

    class Stopping(IntegratorWorld):
        def __init__(self, stop_at: int) -> None:
            self.stop_at = stop_at

        def record(self, seeds, max_env_steps):
            if self.stop_at in seeds:
                raise KeyboardInterrupt
            return super().record(seeds, max_env_steps)

    for stop_at in (23, 30, 39):
        with pytest.raises(KeyboardInterrupt):
            record_into(tmp_path / "stopped", 20, Stopping(stop_at))
    assert 0 < len(Store.open(tmp_path / "stopped")) < 20
    record_into(tmp_path / "stopped", 20)
    assert files(tmp_path / "stopped") == files(tmp_path / "one go")


def test_asking_for_more_extends_and_asking_for_fewer_keeps(tmp_path):
    record_into(tmp_path / "set", 4)
    before = files(tmp_path / "set")
    assert len(record_into(tmp_path / "set", 2)) == 4
    assert files(tmp_path / "set") == before
    record_into(tmp_path / "set", 9)
    record_into(tmp_path / "expected", 9)
    assert files(tmp_path / "set") == files(tmp_path / "expected")


@pytest.mark.parametrize("changed", [{"seed": 21}, {"max_env_steps": 7}, {"stored_size": 8}, {"collection": "dev"}])
def test_other_settings_need_another_folder(tmp_path, changed):
    record_into(tmp_path / "set", 3)
    before = files(tmp_path / "set")
    with pytest.raises(DataError, match="Use another folder"):
        record_into(tmp_path / "set", 3, **changed)
    assert files(tmp_path / "set") == before


@pytest.mark.parametrize("codec", [None, "zlib"])
def test_pictures_can_be_stored_and_equal_those_drawn_on_reading(tmp_path, codec):
    drawn = record_into(tmp_path / "drawn", 6)
    stored = record_into(tmp_path / "stored", 6, stored_size=8, codec=codec)
    rows = np.arange(drawn.total_rows)
    np.testing.assert_array_equal(stored.read_frames("front", rows), drawn.read_frames("front", rows, 8, draw))


@pytest.mark.parametrize("settings", [{"episodes": 0}, {"episodes": 2, "max_env_steps": 0}])
def test_nothing_to_collect_is_refused(tmp_path, settings):
    with pytest.raises(DataError, match="at least one"):
        record_into(tmp_path / "set", **settings)
    assert not (tmp_path / "set").exists()


def test_law_and_seeds_are_written_down(tmp_path):
    meta = record_into(tmp_path / "set", 3, collection="train", command="dualwm data collect").meta
    assert (meta.world, meta.collection, meta.schema) == ("integrator", "train", 1)
    assert Store.open(tmp_path / "set").meta.law == {
        "behaviour": {"name": "toy", "steps": [1, 2]},
        "first_seed": 20,
        "max_env_steps": 6,
    }
    assert meta.created["command"] == "dualwm data collect"
    assert {"dualwm", "numpy", "python"} <= meta.created["versions"].keys()


def test_progress_counts_what_is_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("dualwm.data.collect._TOGETHER", 2)
    seen = []
    record_into(tmp_path / "set", 2)
    record_into(tmp_path / "set", 5, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]


# The law of seeds


def test_the_ranges_of_the_collections_never_meet():
    assert [c.first_seed for c in COLLECTIONS.values()] == [0, 10_000_000, 20_000_000]
    ranges = [range(c.first_seed, c.end_seed) for c in COLLECTIONS.values()]
    assert all(a[-1] < b[0] for a, b in pairwise(ranges))


def test_a_seed_belongs_to_the_collection_whose_range_it_lies_in():
    for one in COLLECTIONS.values():
        assert collection_of(one.first_seed) == collection_of(one.end_seed - 1) == one.name
    assert collection_of(-1) is None
    assert collection_of(30_000_000) is None


def test_first_seed_starts_in_the_range_and_stays_in_it():
    assert first_seed("dev", 5, 100) == 10_000_005
    assert first_seed("test", 0, 10_000_000) == 20_000_000
    for offset, episodes in [(-1, 10), (9_999_995, 10), (0, 10_000_001), (0, 0)]:
        with pytest.raises(DataError, match="owns the seeds"):
            first_seed("dev", offset, episodes)


def test_an_unknown_collection_suggests_the_nearest():
    with pytest.raises(DataError, match="Did you mean 'train'"):
        collection("trains")


def test_a_complete_data_set_is_read_while_another_process_holds_it(tmp_path):
    record_into(tmp_path / "set", 4)
    with only_writer(tmp_path / "set", lambda pid: AssertionError(pid)):
        assert len(record_into(tmp_path / "set", 4)) == 4
        with pytest.raises(DataError, match="another live process"):
            record_into(tmp_path / "set", 5)
        with pytest.raises(DataError, match="another live process"):
            record_into(tmp_path / "set", 4, seed=21)
