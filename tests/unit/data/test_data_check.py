from dataclasses import replace

import numpy as np
import pytest
from data_toy import ACTION, COLUMNS, DRAWN, POSITION, IntegratorWorld, episode, meta, write

from dualwm.data.check import check
from dualwm.data.collect import collect
from dualwm.data.describe import describe
from dualwm.data.schema import StoreMeta
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.records import Episode

LENGTHS = [8, 30, 12]


def store_of(path, change=lambda columns: columns, *, lengths=LENGTHS, store_meta=None, which=(1,)) -> Store:
    """The toy episodes with the columns of some of them changed."""
    with Writer(path, store_meta or meta()) as writer:
        for number, rows in enumerate(lengths):
            one = episode(number, rows)
            columns = {name: values.copy() for name, values in one.columns.items()}
            writer.append([replace(one, columns=change(columns)) if number in which else one])
    return Store.open(path)


def found(store: Store, topic: str, **settings) -> list[tuple[str, str]]:
    return [(one.level, one.text) for one in check(store, **settings) if one.topic == topic]


def errors(store: Store, **settings) -> list[str]:
    return [one.topic for one in check(store, **settings) if one.level == "error"]


def test_sound_data_gives_notes_only(tmp_path):
    assert {one.level for one in check(store_of(tmp_path / "set"))} == {"note"}


def test_nan_actions_before_the_last_row_are_an_error_that_names_the_episodes(tmp_path):
    def spoil(columns):
        columns["action"][3] = np.nan
        return columns

    store = store_of(tmp_path / "set", spoil, which=(0, 2))
    ((level, text),) = found(store, "nan-actions")
    assert level == "error"
    assert "2 episodes" in text
    assert "(0, 2)" in text


def test_an_action_in_the_last_row_is_noted(tmp_path):
    def spoil(columns):
        columns["action"][-1] = 0
        return columns

    assert found(store_of(tmp_path / "set", spoil), "last-action")[0][0] == "note"
    assert not found(store_of(tmp_path / "sound"), "last-action")


def test_the_end_of_each_episode_is_found_in_whatever_chunks_it_is_read(tmp_path, monkeypatch):
    def spoil(columns):
        columns["action"][-2] = np.nan
        return columns

    store = store_of(tmp_path / "set", spoil)
    for size in (1, 100, 1 << 20):
        monkeypatch.setattr("dualwm.data.store._CHUNK_BYTES", size)
        assert "(1)" in found(store, "nan-actions")[0][1]


def test_infinities_and_gaps_in_proprio_are_errors(tmp_path):
    def spoil(columns):
        columns["joints"][2] = np.nan
        columns["position"][2] = np.inf
        return columns

    assert set(errors(store_of(tmp_path / "set", spoil))) == {"infinite", "nan-proprio"}


def test_a_constant_action_component_is_a_warning(tmp_path):
    def spoil(columns):
        columns["action"][:-1, 1] = 3
        return columns

    store = store_of(tmp_path / "set", spoil, which=(0, 1, 2))
    ((level, text),) = found(store, "constant")
    assert level == "warning"
    assert "'action' never changes in component 1" in text


def test_action_ranges_are_told_per_component(tmp_path):
    def spoil(columns):
        columns["action"][:-1] = 0
        columns["action"][0] = [-4, 2.5]
        return columns

    store = store_of(tmp_path / "set", spoil, which=(0, 1, 2))
    texts = [text for _, text in found(store, "range")]
    assert "Column 'action' (action) ranges over [-4, 0], [0, 2.5]." in texts


def freeze(columns):
    columns["side"][:] = columns["side"][:1]
    return columns


def test_a_frozen_camera_is_told_from_a_live_one(tmp_path):
    found_here = dict(found(store_of(tmp_path / "one", freeze), "frozen-frames"))
    assert "Camera 'side'" in found_here["warning"]
    assert "(1)" in found_here["warning"]
    assert "Camera 'front'" in found_here["note"]
    assert errors(store_of(tmp_path / "all", freeze, which=(0, 1, 2))) == ["frozen-frames"]


def test_a_camera_slower_than_the_actions_is_a_warning(tmp_path):
    def slow(columns):
        rows = np.arange(len(columns["front"]))
        return {**columns, "front": columns["front"][rows - rows % 4]}

    levels = [level for level, _ in found(store_of(tmp_path / "set", slow, which=(0, 1, 2)), "frozen-frames")]
    assert sorted(levels) == ["note", "warning"]


def test_frames_of_one_colour_are_counted(tmp_path):
    def black(columns):
        columns["front"][2:7] = 0
        return columns

    ((level, text),) = found(store_of(tmp_path / "set", black), "flat-frames")
    assert (level, "5 frames" in text) == ("warning", True)


def test_a_drawn_camera_is_frozen_where_its_states_are(tmp_path):
    still = replace(episode(0, 9, (ACTION, POSITION)), seed=0)
    still.columns["position"][:] = 5
    with Writer(tmp_path / "set", meta((DRAWN, ACTION, POSITION))) as writer:
        writer.append([still])
    assert errors(Store.open(tmp_path / "set")) == ["frozen-frames"]


def test_each_recipe_is_told_how_many_windows_it_really_gets(tmp_path):
    store = store_of(tmp_path / "set", lengths=[8, 30, 12, 36])
    texts = [
        text
        for _, text in found(
            store, "windows", geometries=[("low", 1, 8), ("long", 5, 7), ("none", 5, 21), ("all", 1, 1)]
        )
    ]
    assert any("low (8 low steps at frame skip 1, 8 rows) gets 58 windows from 4 of 4" in text for text in texts)
    assert any("long (7 low steps at frame skip 5, 31 rows) gets 6 windows from 1 of 4" in text for text in texts)
    assert any("none (21 low steps at frame skip 5, 101 rows) gets 0 windows from 0 of 4" in text for text in texts)


def test_a_data_set_no_recipe_can_use_is_an_error(tmp_path):
    store = store_of(tmp_path / "set")
    assert errors(store, geometries=[("none", 5, 21)]) == ["windows"]
    assert not errors(store, geometries=[("none", 5, 21), ("some", 1, 8)])


def test_one_window_per_episode_is_a_warning(tmp_path):
    store = store_of(tmp_path / "set", lengths=[31] * 4)
    ((level, text),) = found(store, "windows", geometries=[("high", 5, 7)])
    assert (level, "each gives one window" in text) == ("warning", True)


def test_bytes_that_changed_since_they_were_written_are_an_error(tmp_path):
    store = store_of(tmp_path / "set")
    file = tmp_path / "set" / "shard-00000" / "joints.bin"
    blob = bytearray(file.read_bytes())
    blob[-3] ^= 1
    file.write_bytes(blob)
    ((level, text),) = [one for one in found(store, "damaged")]
    assert (level, "(2)" in text) == ("error", True)


def test_a_frame_that_cannot_be_decoded_is_an_error_and_not_a_crash(tmp_path):
    packed = tuple(replace(spec, codec="zlib") if spec.kind == "frames" else spec for spec in COLUMNS)
    store = store_of(tmp_path / "set", store_meta=meta(packed))
    file = tmp_path / "set" / "shard-00000" / "front.bin"
    file.write_bytes(b"\xff" * file.stat().st_size)
    assert "damaged" in errors(store)


def test_an_empty_data_set_is_an_error(tmp_path):
    Writer(tmp_path / "set", meta()).close()
    assert errors(Store.open(tmp_path / "set")) == ["empty"]


def test_a_missing_action_column_is_an_error(tmp_path):
    with Writer(tmp_path / "set", StoreMeta(columns=(POSITION,))) as writer:
        writer.append([Episode(id=0, seed=0, source="", columns={"position": np.zeros((3, 2))})])
    assert "actions" in errors(Store.open(tmp_path / "set"))


def test_copies_inside_a_data_set_are_a_warning(tmp_path):
    with Writer(tmp_path / "set", meta()) as writer:
        writer.append([episode(0, 5), replace(episode(0, 5), id=1, seed=77), episode(2, 5)])
    ((level, text),) = found(Store.open(tmp_path / "set"), "duplicates")
    assert (level, text.startswith("1 episodes")) == ("warning", True)


# Leakage between two data sets


def collected(path, seed: int, **settings) -> Store:
    world = IntegratorWorld()
    made = {"episodes": 5, "max_env_steps": 6} | settings
    return collect(world, path, record=world.record, seed=seed, **made)


def test_disjoint_seeds_do_not_leak(tmp_path):
    assert not errors(collected(tmp_path / "a", 0), against=collected(tmp_path / "b", 5))


def test_a_shared_seed_leaks_even_if_the_contents_differ(tmp_path):
    one, other = collected(tmp_path / "a", 0), collected(tmp_path / "b", 4, max_env_steps=2)
    ((level, text),) = found(one, "leakage", against=other)
    assert (level, "1 seeds stand in both" in text, "(4)" in text) == ("error", True, True)


def test_a_shared_episode_leaks_even_if_pictures_are_stored_in_one_and_drawn_in_the_other(tmp_path):
    one = collected(tmp_path / "a", 0)
    other = collected(tmp_path / "b", 3, stored_size=8, codec="zlib")
    texts = [text for _, text in found(one, "leakage", against=other)]
    assert any("2 episodes have the same content" in text and "(3, 4)" in text for text in texts)


def test_contents_are_compared_where_there_are_no_seeds(tmp_path):
    for name in "ab":
        with Writer(tmp_path / name, meta()) as writer:
            writer.append([replace(episode(0, 5), seed=-1)])
    one, other = Store.open(tmp_path / "a"), Store.open(tmp_path / "b")
    ((_, text),) = found(one, "leakage", against=other)
    assert text.startswith("1 episodes have the same content")


def test_a_seed_of_another_collection_is_an_error(tmp_path):
    assert errors(collected(tmp_path / "a", 9_999_998, collection="train")) == ["seeds"]
    assert not errors(collected(tmp_path / "b", 10_000_000, collection="dev"))


# Description


def test_a_description_counts_bytes_rows_and_lengths(tmp_path):
    store = write(tmp_path / "set", LENGTHS)
    facts = describe(store)
    assert (facts["episodes"], facts["rows"], facts["seeds"]) == (3, 50, [1000, 1002])
    assert facts["bytes"] == sum(column["bytes"] for column in facts["columns"])
    assert {column["name"]: column["bytes"] for column in facts["columns"]}["front"] == 50 * 48
    lengths = facts["rows_per_episode"]
    assert (lengths["min"], lengths["median"], lengths["max"]) == (8, 12, 30)
    assert sum(lengths["histogram"]["counts"]) == 3


@pytest.mark.parametrize("lengths", [[4], [4, 4, 4], list(range(1, 60))])
def test_histograms_have_at_most_twenty_bins_and_count_everything(tmp_path, lengths):
    histogram = describe(write(tmp_path / "set", lengths))["rows_per_episode"]["histogram"]
    assert len(histogram["counts"]) <= 20
    assert sum(histogram["counts"]) == len(lengths)
