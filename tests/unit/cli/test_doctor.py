"""`dualwm doctor` on this machine, and on machines where something is wrong."""

import json
from pathlib import Path

import pytest

from dualwm import errors
from dualwm.cli import doctor
from dualwm.cli.doctor import Args, run
from dualwm.errors import WorldError


def quick(tmp_path: Path, **more) -> Args:
    return Args(data=tmp_path / "data", seconds=0.001, **more)


def test_a_healthy_machine_exits_zero_and_leaves_nothing_behind(tmp_path, capsys):
    assert run(quick(tmp_path)) == 0
    out = capsys.readouterr().out
    for word in ("python", "torch", "threads", "tworoom steps and draws", "GB free", "GFLOP/s"):
        assert word in out
    assert list(tmp_path.iterdir()) == []


def test_json_is_one_object_with_the_same_findings(tmp_path, capsys):
    run(quick(tmp_path, json=True))
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    facts = {finding["name"]: finding["facts"] for finding in told["findings"]}
    assert facts["speed"]["float32_gflops"] > 0
    assert facts["disk"]["free_gb"] > 0
    assert facts["data folder"]["writable"] is True
    assert facts["torch"]["build"]


def test_a_data_folder_that_cannot_be_written_is_said_and_exits_one(tmp_path, capsys):
    (tmp_path / "data").write_text("a file, not a folder")
    assert run(Args(data=tmp_path / "data" / "set", seconds=0.001)) == 1
    out = capsys.readouterr().out
    assert "BAD data folder" in out
    assert "cannot be written" in out


def test_a_world_that_does_not_draw_is_said_with_its_reason(tmp_path, capsys, monkeypatch):
    def broken(name: str):
        raise WorldError(f"{name}: no display")

    monkeypatch.setattr("dualwm.envs.get_world", broken)
    assert run(quick(tmp_path)) == 1
    assert "tworoom does not run here: tworoom: no display" in capsys.readouterr().out


@pytest.mark.parametrize(("installed", "says"), [(True, "plots: installed"), (False, "pip install -e '.[plots]'")])
def test_an_extra_is_installed_or_told_how(monkeypatch, installed, says):
    class Metadata:
        def get_all(self, key: str) -> list[str]:
            return ["plots"] if key == "Provides-Extra" else []

    def find(name: str) -> str:
        if not installed:
            raise doctor.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(doctor, "metadata", lambda name: Metadata())
    monkeypatch.setattr(doctor, "requires", lambda name: ["torch>=2", 'drawing-lib[fast]>=3; extra == "plots"'])
    monkeypatch.setattr(doctor, "version", find)
    (finding,) = doctor._extras()
    assert says in finding.line
    assert finding.facts["missing"] == ([] if installed else ["drawing-lib"])


def test_outside_a_clone_an_extra_is_installed_by_the_packages_name(tmp_path, monkeypatch):
    assert errors.line_that_installs("plots") == "pip install -e '.[plots]'"
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages" / "dualwm" / "errors.py"))
    assert errors.line_that_installs("plots") == "pip install 'dualwm[plots]'"
