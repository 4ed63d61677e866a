"""`dualwm data ...`: what is printed, the one JSON object, and the exit codes."""

import json

import lake
import numpy as np
import pytest
from data_toy import episode, meta, write

from dualwm.cli.data import CheckArgs, CollectArgs, ImportArgs, ShowArgs, check, collect, import_, show
from dualwm.data.collections import collection_of
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.errors import DataError, WorldError


@pytest.fixture
def collected(tmp_path, capsys):
    assert collect(CollectArgs(world="tworoom", out=tmp_path / "set", episodes=12, max_env_steps=60)) == 0
    capsys.readouterr()
    return tmp_path / "set"


def json_of(capsys) -> dict:
    return json.loads(capsys.readouterr().out)


def test_collect_prints_what_was_made_and_its_progress_elsewhere(tmp_path, capsys):
    assert collect(CollectArgs(world="tworoom", out=tmp_path / "set", episodes=12, max_env_steps=60)) == 0
    said = capsys.readouterr()
    store = Store.open(tmp_path / "set")
    assert f"12 episodes, {store.total_rows:,} rows" in said.out
    assert "12 of 12 episodes of tworoom" in said.err


def test_collect_json_is_one_object_with_the_digest(tmp_path, capsys):
    args = CollectArgs(world="tworoom", out=tmp_path / "set", episodes=3, collection="dev", seed=7, json=True)
    assert collect(args) == 0
    facts = json_of(capsys)
    store = Store.open(tmp_path / "set")
    assert facts["digest"] == store.digest
    assert (facts["episodes"], facts["first_seed"]) == (3, 10_000_007)
    assert {collection_of(int(seed)) for seed in store.seeds} == {"dev"}


def test_collect_can_store_the_pictures_it_would_draw(collected, tmp_path, capsys):
    args = CollectArgs(
        world="tworoom", out=tmp_path / "stored", episodes=2, max_env_steps=60, store_frames=16, codec="zlib"
    )
    assert collect(args) == 0
    store = Store.open(tmp_path / "stored")
    assert (store.camera("front").shape, store.camera("front").codec) == ((16, 16, 3), "zlib")
    assert len(np.unique(store.read_frames("front", store.row_numbers(1)), axis=0)) > 10
    capsys.readouterr()


def test_an_unknown_world_suggests_the_nearest(tmp_path):
    with pytest.raises(WorldError, match="Did you mean 'tworoom'"):
        collect(CollectArgs(world="tworom", out=tmp_path / "set"))
    assert not (tmp_path / "set").exists()


def test_a_world_in_a_file_is_collected_by_any_number_of_processes_with_the_same_bytes(tmp_path, capsys):
    digests = set()
    for workers in (1, 2):
        out = tmp_path / str(workers)
        assert collect(CollectArgs(world=lake.__file__, out=out, episodes=130, max_env_steps=5, workers=workers)) == 0
        digests.add(Store.open(out).digest)
    assert len(digests) == 1
    capsys.readouterr()
    with pytest.raises(DataError, match="at least 1, found 0"):
        collect(CollectArgs(world="tworoom", out=tmp_path / "none", workers=0))


def test_show_lists_columns_lengths_seeds_and_law(collected, capsys):
    assert show(ShowArgs(data=collected)) == 0
    said = capsys.readouterr().out
    for words in ("12 episodes", "pos_agent", "drawn", "front", "0 to 11", "noisy walk", "rows per episode"):
        assert words in said, words


def test_show_json_describes_the_same(collected, capsys):
    assert show(ShowArgs(data=collected, json=True)) == 0
    facts = json_of(capsys)
    assert (facts["world"], facts["collection"], facts["episodes"]) == ("tworoom", "train", 12)
    assert facts["law"]["max_env_steps"] == 60


def test_check_passes_sound_data_and_counts_windows_of_recipes_and_of_shapes_asked_for(collected, capsys):
    assert check(CheckArgs(data=collected, windows=("5x4",))) == 0
    said = capsys.readouterr().out
    assert "tworoom/paper low (8 low steps at frame skip 5, 36 rows)" in said
    assert "5x4 (4 low steps at frame skip 5, 16 rows)" in said
    assert said.rstrip().splitlines()[-1].startswith("0 errors")


def test_check_fails_on_leakage(collected, capsys):
    assert check(CheckArgs(data=collected, against=collected, json=True)) == 1
    facts = json_of(capsys)
    assert not facts["ok"]
    assert {found["topic"] for found in facts["findings"] if found["level"] == "error"} == {"leakage"}


@pytest.mark.parametrize("words", ["5", "5x", "0x8", "axb"])
def test_a_window_shape_that_is_none_is_refused(collected, words):
    with pytest.raises(DataError, match="FRAME_SKIPxLOW_STEPS"):
        check(CheckArgs(data=collected, windows=(words,)))


def test_import_prints_the_roles_it_guessed_and_the_next_step(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", **episode(0, 6).columns)
    assert import_(ImportArgs(source=tmp_path / "in", out=tmp_path / "set")) == 0
    said = capsys.readouterr()
    assert "side -> side: pixels of camera 'side', uint8 (3, 5, 3)" in said.err
    assert "1 episodes imported" in said.out
    assert import_(ImportArgs(source=tmp_path / "in", out=tmp_path / "set", json=True)) == 0
    facts = json_of(capsys)
    assert (facts["imported"], facts["skipped"]) == (0, 1)
    assert facts["columns"]["joints"] == {"from": ["joints"], "role": "proprio"}


def test_an_empty_data_set_can_be_shown(tmp_path, capsys):
    Writer(tmp_path / "set", meta()).close()
    assert show(ShowArgs(data=tmp_path / "set")) == 0
    assert "0 episodes" in capsys.readouterr().out


def test_fewer_episodes_than_are_there_are_told_so_and_kept(collected, capsys):
    digest = Store.open(collected).digest
    assert collect(CollectArgs(world="tworoom", out=collected, episodes=5, max_env_steps=60)) == 0
    said = capsys.readouterr()
    assert "holds 12 episodes already, more than 5; none was recorded or removed" in said.out
    assert "12 of 5" not in said.err
    assert Store.open(collected).digest == digest


@pytest.mark.parametrize("started", ["elsewhere/.venv/bin/dualwm", "elsewhere/src/dualwm/__main__.py"])
def test_what_made_a_data_set_is_kept_as_it_would_be_typed_again(tmp_path, monkeypatch, capsys, started):
    monkeypatch.setattr("sys.argv", [started, "data", "collect", "tworoom", "--out", "my set"])
    assert collect(CollectArgs(world="tworoom", out=tmp_path / "set", episodes=1, max_env_steps=60)) == 0
    assert Store.open(tmp_path / "set").meta.created["command"] == "dualwm data collect tworoom --out 'my set'"


def test_windows_of_a_recipe_of_ones_own_are_counted_and_without_any_it_is_said_how(tmp_path, capsys):
    write(tmp_path / "set", [90, 95])
    assert check(CheckArgs(data=tmp_path / "set")) == 0
    assert "No windows were counted" in (said := capsys.readouterr().out)
    assert "--recipes FILE.py:FUNCTION" in said
    assert "--windows" in said
    file = tmp_path / "own.py"
    file.write_text(
        "from dataclasses import replace\nfrom dualwm.recipes import find_recipe\n\n"
        "def mine():\n    return replace(find_recipe('tworoom/tiny'), name='mine', world='')\n"
    )
    check(CheckArgs(data=tmp_path / "set", recipes=(f"{file}:mine",)))
    said = capsys.readouterr().out
    assert "mine low (8 low steps at frame skip 5, 36 rows) gets 115 windows" in said
    assert "No windows were counted" not in said


def test_a_file_in_the_place_of_a_data_set_is_no_damaged_data_set(tmp_path):
    (tmp_path / "note").write_text("x")
    with pytest.raises(DataError, match="should be the folder of a data set, and it is a file"):
        show(ShowArgs(data=tmp_path / "note"))
