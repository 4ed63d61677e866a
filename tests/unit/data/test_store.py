import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
from data_toy import (
    ACTION,
    COLUMNS,
    DRAWN,
    FRONT,
    POSITION,
    SIDE,
    assert_same_episode,
    draw,
    episode,
    files,
    frame_says,
    meta,
    position,
    write,
)

from dualwm.data.schema import StoreMeta
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.errors import DataError
from dualwm.records import ColumnSpec, Episode

LENGTHS = [5, 1, 12, 7, 3, 9]
PACKED = tuple(replace(spec, codec="zlib") if spec.kind == "frames" else spec for spec in COLUMNS)


@pytest.mark.parametrize("columns", [COLUMNS, PACKED], ids=["raw", "zlib"])
def test_episodes_come_back_as_they_were_written(tmp_path, columns):
    store = write(tmp_path / "set", LENGTHS, columns)
    assert len(list((tmp_path / "set").glob("shard-*"))) > 2
    assert store.rows.tolist() == LENGTHS
    assert store.first_rows.tolist() == [0, 5, 6, 18, 25, 28]
    assert store.total_rows == sum(LENGTHS)
    for number, rows in enumerate(LENGTHS):
        assert_same_episode(store.episode(number), episode(number, rows, columns))


@pytest.mark.parametrize("columns", [COLUMNS, PACKED], ids=["raw", "zlib"])
def test_rows_are_read_in_any_order_across_shards(tmp_path, columns):
    store = write(tmp_path / "set", LENGTHS, columns)
    rows = np.random.default_rng(0).integers(0, store.total_rows, (6, 4))
    owner = np.searchsorted(store.first_rows, rows, side="right") - 1
    expected = np.stack([owner, rows - store.first_rows[owner]], axis=-1)
    for camera in ("front", "side"):
        np.testing.assert_array_equal(frame_says(store.read_frames(camera, rows)), expected)
    np.testing.assert_array_equal(store.read_rows("clock", rows), expected[..., 1])


def test_no_rows_asked_for_gives_no_rows(tmp_path):
    store = write(tmp_path / "set", [4])
    assert store.read_frames("side", np.zeros((0, 3), np.int64)).shape == (0, 3, 3, 5, 3)


def test_cameras_keep_their_own_shapes(tmp_path):
    store = write(tmp_path / "set", [4])
    rows = np.arange(4)
    assert store.read_frames("front", rows).shape == (4, 4, 4, 3)
    assert store.read_frames("side", rows).shape == (4, 3, 5, 3)


def test_drawn_frames_are_drawn_from_the_states_of_the_rows_asked_for(tmp_path):
    store = write(tmp_path / "set", LENGTHS, (DRAWN, ACTION, POSITION))
    rows = np.array([[3, 19], [27, 0]])
    frames = store.read_frames("front", rows, 6, draw)
    assert frames.shape == (2, 2, 6, 6, 3)
    expected = np.array([[position(0, 3), position(3, 1)], [position(4, 2), position(0, 0)]])
    np.testing.assert_array_equal(frames[:, :, 0, :2, 0], expected % 256)


def test_drawn_frames_without_a_drawer_say_whose_is_needed(tmp_path):
    store = write(tmp_path / "set", LENGTHS, (DRAWN, ACTION, POSITION))
    with pytest.raises(DataError, match="drawn by the world 'integrator'"):
        store.read_frames("front", np.arange(2))


def test_reading_maps_files_again_after_forgetting_them(tmp_path, monkeypatch):
    monkeypatch.setattr("dualwm.data.store._FORGET_BYTES", 100)
    store = write(tmp_path / "set", LENGTHS)
    for _ in range(3):
        assert frame_says(store.read_frames("front", np.array([20]))).tolist() == [[3, 2]]


def test_digest_tells_contents_and_not_places_or_commands(tmp_path):
    one, same, other = (write(tmp_path / name, LENGTHS) for name in "abc")
    assert one.digest == same.digest
    (tmp_path / "d").mkdir()
    with Writer(tmp_path / "d", replace(meta(), created={"command": "x"}), shard_bytes=1_000) as writer:
        writer.append([episode(number, rows) for number, rows in enumerate(LENGTHS)])
    assert Store.open(tmp_path / "d").digest == one.digest
    with Writer(tmp_path / "c", meta(), shard_bytes=1_000) as writer:
        writer.append([episode(len(LENGTHS), 4)])
    assert Store.open(tmp_path / "c").digest != other.digest


def test_episodes_written_together_or_one_by_one_give_the_same_bytes(tmp_path):
    write(tmp_path / "together", LENGTHS)
    for number, rows in enumerate(LENGTHS):
        with Writer(tmp_path / "single", meta(), shard_bytes=1_000) as writer:
            writer.append([episode(number, rows)])
    assert files(tmp_path / "together") == files(tmp_path / "single")


def test_a_reader_sees_what_was_there_when_it_opened(tmp_path):
    store = write(tmp_path / "set", [4, 5])
    with Writer(tmp_path / "set", meta(), shard_bytes=1_000) as writer:
        writer.append([episode(2, 6)])
        assert len(Store.open(tmp_path / "set")) == 3
    assert_same_episode(store.episode(1), episode(1, 5))


# What is refused, and how it is said


def test_a_newer_schema_is_refused_with_the_way_out(tmp_path):
    write(tmp_path / "set", [4])
    file = tmp_path / "set" / "meta.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "schema": 2}))
    with pytest.raises(DataError, match=r"schema 2.*reads schema 1.*upgrade"):
        Store.open(tmp_path / "set")


def test_a_folder_without_meta_is_not_a_data_set(tmp_path):
    with pytest.raises(DataError, match="is not a data set"):
        Store.open(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 1}', '{"schema": 1, "columns": [{"name": "a"}]}'])
def test_a_damaged_meta_names_its_file(tmp_path, text):
    (tmp_path / "meta.json").write_text(text)
    with pytest.raises(DataError, match=r"meta\.json"):
        Store.open(tmp_path)


def test_a_truncated_shard_names_the_file_and_the_sizes(tmp_path):
    write(tmp_path / "set", LENGTHS)
    file = tmp_path / "set" / "shard-00000" / "front.bin"
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.truncate(size - 1)
    with pytest.raises(DataError, match=rf"shard-00000/front\.bin.*at least {size} bytes.*it has {size - 1}"):
        Store.open(tmp_path / "set")


def test_a_missing_column_file_is_named(tmp_path):
    write(tmp_path / "set", LENGTHS)
    (tmp_path / "set" / "shard-00000" / "action.bin").unlink()
    with pytest.raises(DataError, match=r"shard-00000/action\.bin.*it is missing"):
        Store.open(tmp_path / "set")


def test_a_hole_in_the_index_is_refused(tmp_path):
    write(tmp_path / "set", LENGTHS)
    file = tmp_path / "set" / "episodes.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(DataError, match=r"episodes\.jsonl, line 3: expected episode 2.*found episode 3"):
        Store.open(tmp_path / "set")


def test_rubbish_inside_the_index_is_refused_rather_than_dropped(tmp_path):
    write(tmp_path / "set", LENGTHS)
    file = tmp_path / "set" / "episodes.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b"#" + lines[2], *lines[3:]]))
    with pytest.raises(DataError, match="unreadable line 3"):
        Store.open(tmp_path / "set")


@pytest.mark.parametrize("tail", [b'{"id":6,"rows"', b"\0\0\0\0", b"\0\0\0\n", b"[1]\n{}\n3\n", b"#" * 5000])
def test_a_torn_end_of_the_index_is_ignored_and_repaired_by_the_next_append(tmp_path, tail):
    write(tmp_path / "set", LENGTHS)
    write(tmp_path / "expected", [*LENGTHS, 4])
    with (tmp_path / "set" / "episodes.jsonl").open("ab") as file:
        file.write(tail)
    assert len(Store.open(tmp_path / "set")) == len(LENGTHS)
    with Writer(tmp_path / "set", meta(), shard_bytes=1_000) as writer:
        writer.append([episode(len(LENGTHS), 4)])
    assert files(tmp_path / "set") == files(tmp_path / "expected")


def test_a_damaged_compressed_frame_is_an_error_when_it_is_read(tmp_path):
    store = write(tmp_path / "set", LENGTHS, PACKED)
    file = tmp_path / "set" / "shard-00000" / "front.bin"
    blob = bytearray(file.read_bytes())
    blob[3:9] = b"\xff" * 6
    file.write_bytes(blob)
    with pytest.raises(DataError, match=r"front\.bin: row 0 should decode to 48 bytes"):
        store.read_frames("front", np.arange(3))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"columns": (*COLUMNS, replace(ACTION, name="more"))}, r"columns\.more\.dtype = null"),
        ({"world": "elsewhere"}, r'world = "integrator".*world = "elsewhere"'),
        ({"law": {"cap": 100}}, "law.cap = null.*law.cap = 100"),
    ],
)
def test_episodes_of_another_kind_are_not_appended(tmp_path, change, said):
    write(tmp_path / "set", [4])
    before = files(tmp_path / "set")
    with pytest.raises(DataError, match=said):
        Writer(tmp_path / "set", replace(meta(), **change))
    assert files(tmp_path / "set") == before


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DataError, match=r"thesis\.tex"):
        Writer(tmp_path, meta())
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "set").write_text("not a folder")
    with pytest.raises(DataError, match="is no folder"):
        Writer(tmp_path / "set", meta())


def _without(found: Episode, name: str) -> Episode:
    return replace(found, columns={key: rows for key, rows in found.columns.items() if key != name})


def _with(found: Episode, **columns: np.ndarray) -> Episode:
    return replace(found, columns={**found.columns, **columns})


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda e: _without(e, "side"), "has 4 rows in"),
        (lambda e: _with(e, action=np.zeros((4, 2))), "should be float32.*found float64"),
        (lambda e: _with(e, action=np.zeros((3, 2), np.float32)), r"should be float32 \(4, 2\)"),
        (lambda e: _with(e, side=np.zeros((4, 5, 3, 3), np.uint8)), "column 'side' of episode 2"),
    ],
)
def test_an_episode_of_another_shape_is_refused_and_nothing_of_its_batch_is_kept(tmp_path, spoil, said):
    write(tmp_path / "set", [4])
    before = files(tmp_path / "set")
    with Writer(tmp_path / "set", meta()) as writer, pytest.raises(DataError, match=said):
        writer.append([episode(1, 4), spoil(episode(2, 4))])
    assert files(tmp_path / "set") == before


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ((replace(ACTION, name="../up"),), "'../up' cannot be used"),
        ((ACTION, ACTION), "'action' cannot be used"),
        ((replace(ACTION, dtype="object"),), "numbers and booleans only"),
        ((replace(FRONT, camera=None), ACTION), "must name its camera"),
        ((replace(SIDE, shape=(3, 5)), ACTION), "must be uint8"),
        ((replace(SIDE, codec="mp4"), ACTION), "codec 'mp4'"),
        ((DRAWN, ACTION), "must name its drawer"),
        ((replace(ACTION, shape=(0,)),), "at least 1"),
    ],
)
def test_columns_that_cannot_be_stored_are_refused(tmp_path, columns, said):
    with pytest.raises(DataError, match=said):
        Writer(tmp_path / "set", StoreMeta(columns=columns))


def test_unknown_names_suggest_the_nearest(tmp_path):
    store = write(tmp_path / "set", [4])
    with pytest.raises(DataError, match="Did you mean 'position'"):
        store.column("positions")
    with pytest.raises(DataError, match="Did you mean 'front'"):
        store.camera("fronts")


def test_two_action_columns_are_refused_when_actions_are_asked_for(tmp_path):
    second = ColumnSpec(name="action2", kind="array", dtype="float32", shape=(1,), role="action")
    with Writer(tmp_path / "set", StoreMeta(columns=(ACTION, second))) as writer:
        rows = {"action": np.zeros((3, 2), np.float32), "action2": np.zeros((3, 1), np.float32)}
        writer.append([Episode(id=0, seed=0, source="", columns=rows)])
    with pytest.raises(DataError, match="exactly one column of role action"):
        Store.open(tmp_path / "set").action()


# One writer at a time


def test_a_second_writer_is_told_who_the_first_is(tmp_path):
    script = """
        import sys
        from data_toy import meta
        from dualwm.data.writer import Writer
        with Writer(sys.argv[1], meta()):
            print("writing", flush=True)
            sys.stdin.read()
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "set")]
    with subprocess.Popen(
        command, cwd=_tests_folder(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "writing\n"
        with pytest.raises(DataError, match=rf"live process \(process {other.pid}\)"):
            Writer(tmp_path / "set", meta())
        other.kill()
        other.wait()
        with Writer(tmp_path / "set", meta()) as writer:
            writer.append([episode(0, 4)])
    assert len(Store.open(tmp_path / "set")) == 1


def _tests_folder():
    from pathlib import Path

    return Path(__file__).resolve().parents[2]
