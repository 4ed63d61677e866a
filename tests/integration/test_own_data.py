"""Somebody's own recordings, with a second camera that is not square: import, check, read, train, act."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from data_toy import episode, frame_says
from PIL import Image

import dualwm
from dualwm.cli.main import main
from dualwm.data.normalize import Normalizer
from dualwm.data.split import release_split
from dualwm.data.store import Store
from dualwm.data.windows import Windows

LENGTHS = [25, 31, 18, 40, 22, 27, 35, 19, 26, 30]


def record(robot: Path, zoom: int = 1) -> Path:
    """PNG folders of two cameras and a CSV with two actions and three joints per episode."""
    for number, rows in enumerate(LENGTHS):
        folder, columns = robot / f"take{number}", episode(number, rows).columns
        for camera, name in (("front", "front"), ("wrist", "side")):
            (folder / camera).mkdir(parents=True)
            for row, frame in enumerate(columns[name]):
                Image.fromarray(frame.repeat(zoom, 0).repeat(zoom, 1)).save(folder / camera / f"{row}.png")
        with (folder / "log.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["action_0", "action_1", "joint_0", "joint_1", "joint_2"])
            for action, joints in zip(columns["action"].tolist(), columns["joints"].tolist(), strict=True):
                writer.writerow([*("" if np.isnan(x) else x for x in action), *joints])
    return robot


@pytest.fixture
def recordings(tmp_path):
    return record(tmp_path / "robot")


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


MINE = """
from dataclasses import replace

import zoo_toy
from dualwm.zoo.recipe import Recipe

def mine():
    method = zoo_toy.method(cameras=(("front", 16, 16), ("wrist", 12, 20)))
    encoder = replace(method.model.low.encoder, proprio=(("joint", 3),))
    model = replace(method.model, frame_skip=3, low=replace(method.model.low, encoder=encoder))
    planner = {"25": {**zoo_toy.PLANNER, "bounds": "clip"}}
    return Recipe(name="mine", world="", method=replace(method, model=model), planner=planner)
"""


def test_own_recordings_train_a_system_that_acts(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("own.py").write_text(MINE)
    record(Path("robot"), zoom=4)
    assert main(["data", "import", "robot", "--out", "set"]) == 0
    assert main(["data", "check", "set", "--recipes", "own.py:mine"]) == 0
    assert "mine high (6 low steps at frame skip 3, 16 rows)" in capsys.readouterr().out
    assert main(["train", "own.py:mine", "--data", "set", "--out", "runs/mine", "--device", "cpu"]) == 0
    assert "Next: dualwm.Planner(dualwm.load('runs/mine')" in capsys.readouterr().out

    system, seen = dualwm.load("runs/mine"), Store.open("set").episode(3).columns
    assert [stage["steps"] for stage in system.provenance["stages"]] == [3, 3]
    planner = dualwm.Planner(system.controller())
    planner.reset({"front": seen["front"][-1], "wrist": seen["wrist"][-1]}, {"joint": seen["joint"][-1]})
    for row in range(7):
        frames = {"front": seen["front"][row], "wrist": seen["wrist"][row]}
        action = planner.act(frames, {"joint": seen["joint"][row]})
        assert action.shape == (2,)
        assert (np.float32(system.task["action_low"]) <= action).all()
        assert (action <= np.float32(system.task["action_high"])).all()


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
