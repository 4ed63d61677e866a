"""Somebody's own recordings, with a second camera that is not square: import, check, split, normalise, read."""

import csv
import json

import numpy as np
import pytest
from data_toy import episode, frame_says
from PIL import Image

from dualwm.cli.main import main
from dualwm.data.normalize import Normalizer
from dualwm.data.split import release_split
from dualwm.data.store import Store
from dualwm.data.windows import Windows

LENGTHS = [25, 31, 18, 40, 22, 27, 35, 19, 26, 30]


@pytest.fixture
def recordings(tmp_path):
    """PNG folders of two cameras and a CSV with two actions and three joints per episode."""
    for number, rows in enumerate(LENGTHS):
        folder, columns = tmp_path / "robot" / f"take{number}", episode(number, rows).columns
        for camera, name in (("front", "front"), ("wrist", "side")):
            (folder / camera).mkdir(parents=True)
            for row, frame in enumerate(columns[name]):
                Image.fromarray(frame).save(folder / camera / f"{row}.png")
        with (folder / "log.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["action_0", "action_1", "joint_0", "joint_1", "joint_2"])
            for action, joints in zip(columns["action"].tolist(), columns["joints"].tolist(), strict=True):
                writer.writerow([*("" if np.isnan(x) else x for x in action), *joints])
    return tmp_path / "robot"


def test_own_recordings_are_imported_checked_and_read(recordings, tmp_path, capsys):
    out = tmp_path / "set"
    assert main(["data", "import", str(recordings), "--out", str(out), "--codec", "zlib"]) == 0
    capsys.readouterr()
    assert main(["data", "check", str(out), "--windows", "3x5", "--json"]) == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {found["topic"] for found in findings} >= {"windows", "range", "frozen-frames", "lengths", "checksums"}

    store = Store.open(out)
    split = release_split(len(store), store.digest)
    normalizer = Normalizer.fit(store, split.train, ["action", "joint"])
    windows = Windows(store, split.train, frame_skip=3, low_steps=5, cameras=["front", "wrist"], proprio=["joint"])
    batch = windows.read(np.arange(0, len(windows), 7))
    assert batch["frames/wrist"].shape[1:] == (5, 3, 5, 3)
    assert batch["frames/front"].shape[1:] == (5, 4, 4, 3)
    said = frame_says(batch["frames/wrist"])
    np.testing.assert_array_equal(said, frame_says(batch["frames/front"]))
    np.testing.assert_array_equal(said[:, 0], np.stack([batch["episode"], batch["row"]], axis=1))
    blocks = normalizer.normalize_blocks("action", batch["actions"])
    assert blocks.isfinite().all()
    assert set(batch["episode"].tolist()) <= set(split.train)


def test_importing_twice_changes_nothing(recordings, tmp_path, capsys):
    command = ["data", "import", str(recordings), "--out", str(tmp_path / "set"), "--json"]
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(command) == 0
    again = json.loads(capsys.readouterr().out)
    assert (first["imported"], again["imported"], again["skipped"]) == (10, 0, 10)
    assert first["digest"] == again["digest"]


def test_a_mistake_is_one_paragraph_and_exit_code_2(tmp_path, capsys):
    assert main(["data", "show", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("dualwm data show: ")
    assert said.count("\n") == 1
