"""Whatever stops a writer, and whenever: every episode is there whole or not at all, and the next one continues."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from data_crash import LENGTHS, SHARD_BYTES, append_all, look
from data_toy import COLUMNS, assert_same_episode, episode, files as files_of, meta

from dualwm import files
from dualwm.data import disk, writer
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.errors import DataError

TESTS = Path(__file__).resolve().parents[2]
posix = pytest.mark.skipif(sys.platform == "win32", reason="kills processes with SIGKILL")


def _crash(mode: str, folder: Path) -> int:
    """Run data_crash.py; how many writers it killed."""
    command = [sys.executable, str(TESTS / "data_crash.py"), mode, str(folder)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@posix
@pytest.mark.parametrize(("mode", "at_least"), [("steps", 40), ("instants", 20)])
def test_killed_writers_leave_whole_episodes_and_the_next_ones_finish_the_same_bytes(tmp_path, mode, at_least):
    append_all(tmp_path / "expected", LENGTHS[mode])
    assert _crash(mode, tmp_path / "killed") >= at_least
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "expected")


class PowerCut(BaseException):
    """The machine is off."""


class Power:
    """Cuts the power at a step; then one part of what never reached the disk is lost, and the other is not.

    lost = "data":  data and file names not synced are gone, the index got through
    lost = "index": the other way round
    """

    def __init__(self, monkeypatch, step: int) -> None:
        self.left, self.paths, self.safe = step, {}, {}
        for name in ("open_for_writing", "write_at", "truncate", "sync"):
            monkeypatch.setattr(disk, name, self._wrap(name, getattr(disk, name)))
        for module in (files, writer):
            monkeypatch.setattr(module, "sync_folder", self._wrap("sync_folder", module.sync_folder))

    def _wrap(self, name, real):
        def wrapped(*args):
            self.left -= 1
            if self.left == 0 and name == "write_at":
                real(args[0], args[1], memoryview(args[2]).cast("B")[: len(args[2]) // 2])
            if self.left == 0:
                raise PowerCut
            result = real(*args)
            if name == "open_for_writing":
                self.paths[result.fileno()] = args[0]
            elif name == "sync":
                path = self.paths[args[0].fileno()]
                self.safe[path] = path.read_bytes()
            return result

        return wrapped

    def lose(self, folder: Path, lost: str) -> None:
        for file in [file for file in folder.rglob("*") if file.is_file() and file.name not in (".lock", "meta.json")]:
            if (file.name == "episodes.jsonl") == (lost == "index"):
                if file in self.safe:
                    file.write_bytes(self.safe[file])
                else:
                    file.unlink()


@pytest.mark.parametrize("lost", ["data", "index"])
def test_a_power_cut_at_any_step_loses_no_episode_whose_append_returned(tmp_path, lost):
    lengths, step, came_through = [4, 6, 3, 9], 0, False
    append_all(tmp_path / "expected", lengths)
    while not came_through:
        step += 1
        folder, returned = tmp_path / f"{step}", 0
        with pytest.MonkeyPatch.context() as monkeypatch:
            power = Power(monkeypatch, step)
            try:
                with Writer(folder, meta(), shard_bytes=SHARD_BYTES) as opened:
                    for start in (0, 2):
                        opened.append([episode(number, lengths[number], COLUMNS) for number in (start, start + 1)])
                        returned = start + 2
                came_through = True
            except PowerCut:
                power.lose(folder, lost)
        look(folder, lengths, returned)
        append_all(folder, lengths)
        assert files_of(folder) == files_of(tmp_path / "expected"), step
    assert step > 30


def test_an_interrupted_append_can_be_repeated_by_the_same_writer(tmp_path, monkeypatch):
    lengths = [4, 6, 3, 9]
    append_all(tmp_path / "expected", lengths)
    with Writer(tmp_path / "set", meta(), shard_bytes=SHARD_BYTES) as opened:
        opened.append([episode(number, lengths[number]) for number in (0, 1)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(disk, "sync", lambda file: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                opened.append([episode(2, 8)])
        opened.append([episode(number, lengths[number]) for number in (2, 3)])
    assert files_of(tmp_path / "set") == files_of(tmp_path / "expected")


def test_a_full_disk_says_what_is_safe(tmp_path):
    with Writer(tmp_path / "set", meta()) as opened:
        opened.append([episode(0, 4)])
        with pytest.MonkeyPatch.context() as patch:

            def full(*_):
                raise OSError(28, "No space left on device")

            patch.setattr(disk, "write_at", full)
            with pytest.raises(DataError, match=r"No space left.*The 1 episodes before them are whole.*same command"):
                opened.append([episode(1, 4)])
    assert_same_episode(Store.open(tmp_path / "set").episode(0), episode(0, 4))
    assert len(Store.open(tmp_path / "set")) == 1


def test_surplus_files_and_bytes_are_ignored_and_repaired(tmp_path):
    append_all(tmp_path / "expected", [4, 6, 3])
    append_all(tmp_path / "set", [4, 6])
    surplus = {"shard-00001/front.bin": b"x" * 5000, "shard-00000/action.bin": b"y" * 5000}
    (tmp_path / "set" / "shard-00001").mkdir(exist_ok=True)
    for name, data in surplus.items():
        with (tmp_path / "set" / name).open("ab") as file:
            file.write(data)
    look(tmp_path / "set", [4, 6], 2)
    append_all(tmp_path / "set", [4, 6, 3])
    assert files_of(tmp_path / "set") == files_of(tmp_path / "expected")


def test_a_compressed_column_is_as_safe(tmp_path):
    packed = tuple(replace(spec, codec="zlib") if spec.kind == "frames" else spec for spec in COLUMNS)
    with Writer(tmp_path / "expected", meta(packed)) as opened:
        opened.append([episode(0, 4), episode(1, 5)])
    with Writer(tmp_path / "set", meta(packed)) as opened:
        opened.append([episode(0, 4)])
    for name in ("front.bin", "front.spans.bin"):
        with (tmp_path / "set" / "shard-00000" / name).open("ab") as file:
            file.write(b"torn")
    with Writer(tmp_path / "set", meta(packed)) as opened:
        opened.append([episode(1, 5)])
    assert files_of(tmp_path / "set") == files_of(tmp_path / "expected")
