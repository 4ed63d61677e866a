from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluate_toy import WORLD, walks

from dualwm.errors import DataError, ProtocolError
from dualwm.evaluate.pool import PairPool, build_pool
from dualwm.evaluate.sampling import paper_rows

SMALL = {"min_pairs": 60, "min_episodes": 40, "paper_sample": 12}


@pytest.fixture(scope="module")
def pool() -> PairPool:
    return build_pool("test", walks(), WORLD, **SMALL)


def test_a_pair_is_two_rows_of_one_episode_an_offset_apart(pool: PairPool):
    episodes = walks()
    for offset, pairs in pool.pairs.items():
        assert len(pairs) >= 60
        first = episodes.first_rows[pairs.episode] + pairs.start_row
        assert (pairs.starts == episodes.z[first]).all()
        assert (pairs.goals == episodes.z[first + offset]).all()
        assert (pairs.start_row + offset < episodes.rows[pairs.episode]).all()
        assert (pairs.env_seed == episodes.seeds[pairs.episode]).all()


def test_pairs_carry_what_the_world_says_about_them(pool: PairPool):
    pairs = pool.pairs[25]
    gap = np.hypot(*(pairs.goals - pairs.starts).T)
    assert (pairs.solved["near"] == (gap < 0.5)).all()
    assert (pairs.solved["nearer"] == (gap < 0.25)).all()
    assert np.allclose(pairs.facts["path_px"], 10 * gap)
    task = pairs.task(7, 3, "near")
    assert (task.index, task.start) == (3, tuple(pairs.starts[7]))
    assert task.facts["path_px"] == pairs.facts["path_px"][7]


def test_the_paper_pairs_of_the_named_seeds_are_there(pool: PairPool):
    assert sorted(pool.paper) == sorted((seed, m) for seed in (0, 1, 42) for m in (25, 50, 75, 100))
    episodes = walks()
    rows = paper_rows(episodes.rows, 100, 42, 12)
    assert (pool.paper[42, 100].starts == episodes.z[rows]).all()
    assert (pool.paper[42, 100].goals == episodes.z[rows + 100]).all()


def test_a_pool_is_a_function_of_its_episodes(pool: PairPool):
    assert build_pool("test", walks(), WORLD, **SMALL).digest == pool.digest
    assert build_pool("dev", walks(), WORLD, **SMALL).digest != pool.digest
    assert build_pool("test", walks(first_seed=501), WORLD, **SMALL).digest != pool.digest


def test_saving_and_loading_gives_the_same_pool(pool: PairPool, tmp_path: Path):
    pool.save(tmp_path / "pool.npz")
    loaded = PairPool.load(tmp_path / "pool.npz")
    assert loaded.digest == pool.digest
    assert loaded.pairs[50].task(5, 0, "nearer") == pool.pairs[50].task(5, 0, "nearer")
    again = tmp_path / "again.npz"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "pool.npz").read_bytes()


def test_the_digest_sees_every_number(pool: PairPool):
    pairs = pool.pairs[100]
    goals = pairs.goals.copy()
    goals[3, 1] = np.nextafter(goals[3, 1], 9)
    changed = replace(pool, pairs={**pool.pairs, 100: replace(pairs, goals=goals)})
    assert changed.digest != pool.digest


@pytest.mark.parametrize("damage", ["empty", "cut", "no npz", "missing", "pickle"])
def test_a_damaged_pool_is_refused(pool: PairPool, tmp_path: Path, damage: str):
    path = tmp_path / "pool.npz"
    pool.save(path)
    data = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "pickle":
        np.savez(path, meta=np.array([{"format": 1}], dtype=object))
    else:
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "no npz": b"hello" * 9}[damage])
    with pytest.raises(DataError, match=r"pool\.npz"):
        PairPool.load(path)


def test_a_newer_format_is_refused_by_name(pool: PairPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as future:
        future.setattr("dualwm.evaluate.pool._FORMAT", 2)
        pool.save(tmp_path / "pool.npz")
    with pytest.raises(DataError, match="format 2"):
        PairPool.load(tmp_path / "pool.npz")


def test_pools_are_cut_from_enough_dev_or_test_episodes_only():
    with pytest.raises(ProtocolError, match="never evaluate on training"):
        build_pool("train", walks(), WORLD, **SMALL)
    with pytest.raises(ProtocolError, match="at least 1000 episodes"):
        build_pool("test", walks(), WORLD)
