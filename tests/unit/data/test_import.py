import csv
from pathlib import Path

import numpy as np
import pytest
from data_toy import episode, files
from PIL import Image

from dualwm.data.importing import Imported, ImportSettings, import_folder
from dualwm.errors import DataError

LENGTHS = [6, 9, 4]


def npz_folder(path: Path, lengths=LENGTHS, **extra) -> Path:
    """One .npz per episode, run2 before run10 in natural order."""
    path.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(lengths):
        np.savez(path / f"run{2 + 4 * number}.npz", **{**episode(number, rows).columns, **extra})
    return path


def write_csv(file: Path, columns: dict[str, list]) -> None:
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def save_pictures(folder: Path, frames: np.ndarray) -> None:
    folder.mkdir(parents=True)
    for row, frame in enumerate(frames):
        Image.fromarray(frame).save(folder / f"frame{row}.png")


def action_cells(number: int, rows: int) -> dict[str, list]:
    actions = episode(number, rows).columns["action"][:-1]
    return {"action_0": [*actions[:, 0].tolist(), ""], "action_1": [*actions[:, 1].tolist(), ""]}


def picture_folder(path: Path, lengths=LENGTHS) -> Path:
    """Two cameras, one of them not square, and a CSV in each episode's folder."""
    for number, rows in enumerate(lengths):
        columns = episode(number, rows).columns
        save_pictures(path / f"ep{number}" / "front", columns["front"])
        save_pictures(path / f"ep{number}" / "wrist", columns["side"])
        joints = {f"joint{i}": columns["joints"][:, i].tolist() for i in range(3)}
        write_csv(path / f"ep{number}" / "log.csv", {**action_cells(number, rows), **joints})
    return path


def load(source: Path, out: Path, **settings) -> Imported:
    return import_folder(source, out, ImportSettings(**settings))


def roles(done: Imported) -> dict[str, str]:
    return {use.spec.name: use.spec.role for use in done.uses}


# The layouts


def test_npz_files_become_episodes_in_natural_order(tmp_path):
    done = load(npz_folder(tmp_path / "in"), tmp_path / "set")
    assert (done.imported, done.skipped) == (3, 0)
    assert done.store.rows.tolist() == LENGTHS
    assert roles(done) == {
        "front": "pixels",
        "side": "pixels",
        "action": "action",
        "joints": "proprio",
        "position": "state",
        "clock": "aux",
    }
    for number, rows in enumerate(LENGTHS):
        expected = episode(number, rows).columns
        for name, values in done.store.episode(number).columns.items():
            np.testing.assert_array_equal(values, expected[name])


def test_npy_folders_become_episodes(tmp_path):
    for number, rows in enumerate(LENGTHS):
        folder = tmp_path / "in" / f"ep{number}"
        folder.mkdir(parents=True)
        for name, values in episode(number, rows).columns.items():
            np.save(folder / f"{name}.npy", values)
    done = load(tmp_path / "in", tmp_path / "set")
    assert done.store.rows.tolist() == LENGTHS
    np.testing.assert_array_equal(done.store.episode(1).columns["side"], episode(1, 9).columns["side"])


def test_pictures_of_two_cameras_and_a_csv_become_episodes(tmp_path):
    done = load(picture_folder(tmp_path / "in"), tmp_path / "set")
    assert done.store.camera("front").shape == (4, 4, 3)
    assert done.store.camera("wrist").shape == (3, 5, 3)
    for number, rows in enumerate(LENGTHS):
        found, expected = done.store.episode(number).columns, episode(number, rows).columns
        np.testing.assert_array_equal(found["wrist"], expected["side"])
        np.testing.assert_array_equal(found["action"], expected["action"])
        np.testing.assert_array_equal(found["joint"], expected["joints"].astype(np.float32))
    assert roles(done)["joint"] == "proprio"


def test_pictures_beside_one_csv_for_all_episodes_become_episodes(tmp_path):
    table = {"episode": [], "action_1": [], "action_0": []}
    for number, rows in enumerate(LENGTHS):
        save_pictures(tmp_path / "in" / f"ep{number}", episode(number, rows).columns["front"])
        cells = action_cells(number, rows)
        table["episode"] += [f"ep{number}"] * (rows - 1)
        for name in ("action_0", "action_1"):
            table[name] += cells[name][:-1]
    write_csv(tmp_path / "in" / "actions.csv", table)
    done = load(tmp_path / "in", tmp_path / "set")
    assert done.store.meta.columns[0].camera == "front"
    for number, rows in enumerate(LENGTHS):
        found = done.store.episode(number).columns
        np.testing.assert_array_equal(found["action"], episode(number, rows).columns["action"])


def test_a_folder_in_no_known_layout_lists_the_known_ones(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("hello")
    with pytest.raises(DataError, match=r"no episode in a known layout.*\.npz"):
        load(tmp_path / "in", tmp_path / "set")
    assert not (tmp_path / "set").exists()


# Continuing


def test_a_second_import_skips_what_is_there_and_adds_what_is_new(tmp_path):
    source = npz_folder(tmp_path / "in", LENGTHS[:2])
    load(source, tmp_path / "set")
    before = files(tmp_path / "set")
    again = load(source, tmp_path / "set")
    assert (again.imported, again.skipped) == (0, 2)
    assert files(tmp_path / "set") == before
    more = load(npz_folder(tmp_path / "in"), tmp_path / "set")
    assert (more.imported, more.skipped) == (1, 2)
    load(source, tmp_path / "one go")
    assert files(tmp_path / "set") == files(tmp_path / "one go")


def test_an_episode_that_changed_is_refused_and_the_others_are_kept(tmp_path):
    source = npz_folder(tmp_path / "in")
    load(source, tmp_path / "set")
    before = files(tmp_path / "set")
    npz_folder(tmp_path / "in", [6, 8])
    with pytest.raises(DataError, match=r"'run6'.*has changed since"):
        load(source, tmp_path / "set")
    assert files(tmp_path / "set") == before


def test_a_broken_episode_is_named_and_the_same_command_continues_after_it_is_repaired(tmp_path):
    source = npz_folder(tmp_path / "in")
    whole = (source / "run6.npz").read_bytes()
    (source / "run6.npz").write_bytes(whole[:100])
    with pytest.raises(DataError, match=r"run6\.npz.*cannot be read"):
        load(source, tmp_path / "set")
    (source / "run6.npz").write_bytes(whole)
    assert load(source, tmp_path / "set").imported == 2
    load(source, tmp_path / "one go")
    assert files(tmp_path / "set") == files(tmp_path / "one go")


def test_pickled_arrays_are_refused(tmp_path):
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", action=np.array([{"os": "system"}], dtype=object))
    with pytest.raises(DataError, match="plain arrays"):
        load(tmp_path / "in", tmp_path / "set")


# Roles


def test_roles_can_be_said(tmp_path):
    done = load(
        npz_folder(tmp_path / "in"),
        tmp_path / "set",
        roles=("position=proprio", "side=pixels:wrist", "clock=skip", "joints=aux"),
    )
    assert roles(done) == {
        "front": "pixels",
        "side": "pixels",
        "action": "action",
        "joints": "aux",
        "position": "proprio",
    }
    assert done.store.camera("wrist").name == "side"


def test_several_arrays_of_actions_are_put_side_by_side(tmp_path):
    steer, gas = np.arange(6.0)[:, None], np.arange(6.0) + 10
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", steer=steer, gas=gas, position=np.zeros((6, 2)))
    done = load(tmp_path / "in", tmp_path / "set", roles=("steer=action", "gas=action"))
    assert done.store.episode(0).columns["action"][:2].tolist() == [[0, 10], [1, 11]]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("position=stat", "Did you mean 'state'"),
        ("position", "NAME=ROLE"),
        ("positions=state", "Did you mean 'position'"),
        ("position=state:front", "NAME=pixels:CAMERA"),
    ],
)
def test_roles_that_cannot_be_meant_are_refused(tmp_path, said, message):
    with pytest.raises(DataError, match=message):
        load(npz_folder(tmp_path / "in"), tmp_path / "set", roles=(said,))


def test_without_actions_the_way_to_say_them_is_shown(tmp_path):
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", torque=np.zeros((4, 2)))
    with pytest.raises(DataError, match="--roles torque=action"):
        load(tmp_path / "in", tmp_path / "set")


# Actions and rows


def actions_after_import(tmp_path: Path, actions: np.ndarray, **settings) -> list:
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", action=actions, position=np.zeros((4, 1)))
    return load(tmp_path / "in", tmp_path / "set", **settings).store.episode(0).columns["action"].tolist()


NEVER = pytest.approx([np.nan], nan_ok=True)


def test_actions_that_lead_out_of_their_row_stay_there_and_the_last_was_never_taken(tmp_path):
    assert actions_after_import(tmp_path, np.array([[1.0], [2], [3], [4]])) == [[1], [2], [3], NEVER]


def test_one_action_fewer_than_observations_is_fine(tmp_path):
    assert actions_after_import(tmp_path, np.array([[1.0], [2], [3]])) == [[1], [2], [3], NEVER]


def test_actions_that_lead_into_their_row_move_up(tmp_path):
    taken = np.array([[np.nan], [1], [2], [3]])
    assert actions_after_import(tmp_path, taken, action_leads="in") == [[1], [2], [3], NEVER]


def test_actions_that_seem_to_lead_into_their_row_are_questioned(tmp_path):
    with pytest.raises(DataError, match="--action-leads in"):
        actions_after_import(tmp_path, np.array([[np.nan], [1], [2], [3]]))


def test_choices_become_one_hot(tmp_path):
    rows = actions_after_import(tmp_path, np.array([2, 0, 1, 1]), discrete_actions=3)
    assert rows[:3] == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    assert np.isnan(rows[3]).all()


def test_whole_numbers_are_not_silently_taken_for_quantities(tmp_path):
    with pytest.raises(DataError, match="--discrete-actions N"):
        actions_after_import(tmp_path, np.array([2, 0, 1, 1]))


@pytest.mark.parametrize("actions", [np.array([0, 1, 3, 1]), np.array([0.5, 1, 1, 1]), np.zeros((4, 2))])
def test_choices_out_of_range_are_refused(tmp_path, actions):
    with pytest.raises(DataError, match="from 0 to 2 per row"):
        actions_after_import(tmp_path, actions, discrete_actions=3)


def test_rows_that_do_not_match_are_refused_with_all_lengths(tmp_path):
    with pytest.raises(DataError, match=r"'position': 4.*'action': 2"):
        actions_after_import(tmp_path, np.zeros((2, 1)))


def test_an_episode_that_lacks_an_array_is_named(tmp_path):
    npz_folder(tmp_path / "in", [5])
    columns = dict(episode(1, 5).columns)
    del columns["joints"]
    np.savez(tmp_path / "in" / "run9.npz", **columns)
    with pytest.raises(DataError, match=r"'run9'.*has no array 'joints'"):
        load(tmp_path / "in", tmp_path / "set")


# Pictures


def pictures_after_import(tmp_path: Path, frames: np.ndarray, **settings) -> np.ndarray:
    (tmp_path / "in").mkdir()
    np.savez(tmp_path / "in" / "a.npz", cam=frames, action=np.zeros((len(frames), 1), np.float32))
    return load(tmp_path / "in", tmp_path / "set", **settings).store.episode(0).columns["cam"]


FRAMES = np.random.default_rng(0).integers(0, 256, (5, 6, 8, 3), dtype=np.uint8)


def test_channels_in_front_and_alpha_are_understood(tmp_path):
    (tmp_path / "alpha").mkdir()
    np.testing.assert_array_equal(pictures_after_import(tmp_path, np.moveaxis(FRAMES, -1, 1)), FRAMES)
    with_alpha = np.concatenate([FRAMES, FRAMES[..., :1]], axis=-1)
    np.testing.assert_array_equal(pictures_after_import(tmp_path / "alpha", with_alpha), FRAMES)


def test_pictures_can_be_resized(tmp_path):
    small = pictures_after_import(tmp_path, FRAMES, resize=(3, 4))
    expected = FRAMES.reshape(5, 3, 2, 4, 2, 3).astype(float).mean((2, 4))
    np.testing.assert_allclose(small, expected, atol=1)


def test_packed_pictures_come_back_bit_by_bit(tmp_path):
    np.testing.assert_array_equal(pictures_after_import(tmp_path, FRAMES, codec="zlib"), FRAMES)


def test_pictures_that_are_not_bytes_are_refused(tmp_path):
    with pytest.raises(DataError, match="should hold pictures as uint8"):
        pictures_after_import(tmp_path, FRAMES / 255, roles=("cam=pixels",))


def test_a_broken_picture_is_named(tmp_path):
    source = picture_folder(tmp_path / "in")
    (source / "ep1" / "wrist" / "frame3.png").write_bytes(b"not a picture")
    with pytest.raises(DataError, match=r"frame3\.png should hold a picture"):
        load(source, tmp_path / "set")


def test_pictures_of_another_size_are_named(tmp_path):
    source = picture_folder(tmp_path / "in")
    Image.new("RGB", (9, 9)).save(source / "ep0" / "front" / "frame2.png")
    with pytest.raises(DataError, match=r"frame2\.png is 9 x 9 pixels.*share one size"):
        load(source, tmp_path / "set")


# CSV


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,4\n", "first line names the columns"),
        ("a,a\n1,2\n", "first line names the columns"),
        ("a,b\n1,2\n3\n", "line 3 with another number of cells"),
        ("", "first line names the columns"),
        ("front,action\n1,2\n", "cameras too"),
    ],
)
def test_csv_files_that_cannot_be_read_are_named(tmp_path, text, said):
    source = picture_folder(tmp_path / "in")
    (source / "ep0" / "log.csv").write_text(text)
    with pytest.raises(DataError, match=rf"ep0/log\.csv.*{said}"):
        load(source, tmp_path / "set")


def test_an_episode_without_a_csv_is_named(tmp_path):
    source = picture_folder(tmp_path / "in")
    (source / "ep2" / "log.csv").unlink()
    with pytest.raises(DataError, match="ep2 has pictures and should have one CSV"):
        load(source, tmp_path / "set")


def test_words_in_a_csv_are_left_out(tmp_path):
    source = picture_folder(tmp_path / "in", [4])
    file = source / "ep0" / "log.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0] + ",mood", *(line + ",calm" for line in lines[1:])]))
    assert "mood" not in roles(load(source, tmp_path / "set"))


@pytest.mark.parametrize(("x", "y"), [("action_x", "action_y"), ("action.dx", "action.dy")])
def test_components_of_an_action_named_by_letters_are_one_action(tmp_path, x, y):
    columns = episode(0, 6).columns
    save_pictures(tmp_path / "in" / "ep0", columns["front"])
    first, second = np.nan_to_num(columns["action"]).T.tolist()
    write_csv(tmp_path / "in" / "ep0" / "log.csv", {x: first, y: second})
    done = load(tmp_path / "in", tmp_path / "set")
    assert roles(done) == {"front": "pixels", "action": "action"}
    np.testing.assert_array_equal(done.store.episode(0).columns["action"], columns["action"])


def test_the_remedy_for_missing_actions_names_numbers_that_could_be_some(tmp_path):
    save_pictures(tmp_path / "in" / "ep0" / "cam", episode(0, 3).columns["front"])
    write_csv(tmp_path / "in" / "ep0" / "log.csv", {"t": [0, 1, 2], "act_left": [1.5, 2, 0], "act_right": [0, 1.5, 2]})
    with pytest.raises(DataError, match="--roles act_left=action act_right=action`"):
        load(tmp_path / "in", tmp_path / "set")
