"""Recording in several processes: the bytes of one, whoever dies."""

import os
import subprocess
import sys
import time
from pathlib import Path

import crew_toy
import pytest
from crew_toy import Broken, Mortal, crew, record_into
from data_toy import IntegratorWorld, files

from dualwm.data.store import Store
from dualwm.errors import DataError


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch):
    monkeypatch.setattr("dualwm.data.collect._TOGETHER", 3)


def test_any_number_of_processes_gives_the_bytes_of_one(tmp_path):
    expected = files((record_into(tmp_path / "one", 20, stored_size=8)).path)
    for workers in (2, 3):
        path = tmp_path / str(workers)
        record_into(path, 8, crew(IntegratorWorld, workers=workers), stored_size=8)
        record_into(path, 20, crew(IntegratorWorld, workers=workers), stored_size=8)
        assert files(path) == expected


def test_a_process_that_dies_is_replaced_and_its_episodes_are_recorded_again(tmp_path):
    lives = tmp_path / "lives"
    lives.write_text("2")
    record_into(tmp_path / "set", 15, crew(Mortal, lives, 27))
    assert lives.read_text() == "0", "two processes died"
    assert files(tmp_path / "set") == files(record_into(tmp_path / "one", 15).path)


def test_episodes_that_kill_every_process_are_given_up_with_what_to_do(tmp_path):
    lives = tmp_path / "lives"
    lives.write_text("3")
    with pytest.raises(DataError, match=r"seeds 26 to 28 cost 3 processes.*exit code -9.*--workers 1"):
        record_into(tmp_path / "set", 15, crew(Mortal, lives, 27))
    store = Store.open(tmp_path / "set")
    assert len(store) in (0, 3, 6)
    record_into(tmp_path / "set", 15)
    assert files(tmp_path / "set") == files(record_into(tmp_path / "one", 15).path)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_exception_inside_a_world_is_told_with_its_seeds_and_place(tmp_path, workers):
    with pytest.raises(DataError, match=r"seeds 26 to 28.*ValueError: the box is empty, at crew_toy.py:\d+"):
        record_into(tmp_path / "set", 15, crew(Broken, workers=workers), record=Broken().record)
    assert len(Store.open(tmp_path / "set")) == 6


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_killing_the_writer_ends_its_processes_and_the_same_command_continues(tmp_path):
    command = [sys.executable, crew_toy.__file__, str(tmp_path), "400"]
    writing = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    _until(lambda: (tmp_path / "set" / "episodes.jsonl").exists() and len(Store.open(tmp_path / "set")) > 0)
    writing.kill()
    writing.wait()
    workers = [int(file.name) for file in tmp_path.iterdir() if file.name.isdigit()]
    assert workers
    _until(lambda: not any(map(_alive, workers)))
    there = len(Store.open(tmp_path / "set"))
    assert 0 < there < 400
    record_into(tmp_path / "set", there + 5)
    assert files(tmp_path / "set") == files(record_into(tmp_path / "one", there + 5).path)


def _until(true, seconds: float = 100) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"
