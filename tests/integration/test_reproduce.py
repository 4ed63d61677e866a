"""`dualwm reproduce`: identical where nothing changed, and told where something did."""

import json
from pathlib import Path

import pytest
import zoo_toy

from dualwm.cli.main import main
from dualwm.records import read_outcomes

EVAL = ["--seeds", "0", "1", "--num-tasks", "6", "--json"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system of random weights, evaluated, and two floors compared."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr("dualwm.evaluate.ledger.default_ledger", lambda: None)
        zoo_toy.system().save(Path("toy"))
        assert main(["eval", "toy", "--offset", "25", *EVAL, "--out", "number"]) == 0
        assert main(["compare", "--systems", "oracle", "--offsets", "25", "50", *EVAL, "--out", "floors"]) == 0
    return home


def told(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def change(file: Path, old: bytes, new: bytes, lines: int, within: bytes = b"") -> None:
    """Another record of the first lines in which it is possible, among those that hold `within`."""
    changed = 0
    out = []
    for line in file.read_bytes().splitlines(keepends=True):
        use = old in line and within in line and changed < lines
        out.append(line.replace(old, new) if use else line)
        changed += use
    assert changed == lines
    file.write_bytes(b"".join(out))


def test_a_number_comes_out_as_it_was_recorded(home: Path, capsys, monkeypatch):
    monkeypatch.chdir(home)
    assert main(["reproduce", "number", "--json"]) == 0
    facts = told(capsys)
    (number,) = facts["numbers"]
    assert (number["identical"], number["differing"], number["success"]["n"]) == (True, 0, 12)
    assert facts["changed"] == []
    assert main(["reproduce", "number", "--num-tasks", "5"]) == 0
    assert "identical on all 4 tasks" in capsys.readouterr().out


def test_one_system_or_offset_of_a_comparison(home: Path, capsys, monkeypatch):
    monkeypatch.chdir(home)
    assert main(["reproduce", "floors", "--json"]) == 0
    assert len(told(capsys)["numbers"]) == 2 * 5
    assert main(["reproduce", "floors", "--system", "oracle", "--offset", "50", "--json"]) == 0
    (number,) = told(capsys)["numbers"]
    assert (number["system"], number["goal_offset_env_steps"]) == ("oracle", 50)
    assert main(["reproduce", "floors", "--system", "homing"]) == 2
    assert "('oracle', 25)" in capsys.readouterr().err


def test_what_came_out_otherwise_is_counted_and_only_a_separated_difference_fails(home: Path, capsys, monkeypatch):
    monkeypatch.chdir(home)
    file = home / "floors/outcomes.jsonl"
    kept = file.read_bytes()
    one = ["reproduce", "floors", "--system", "oracle", "--offset", "25"]
    change(file, b'"steps":', b'"steps":9', 1, within=b'"system":"oracle"')
    assert main(one) == 0
    assert "1 of 12 tasks differ, 0 of them in success" in capsys.readouterr().out
    file.write_bytes(kept)
    change(file, b'"success":true,"system":"oracle"', b'"success":false,"system":"oracle"', 2)
    assert main(one) == 0
    assert "2 of 12 tasks differ, 2 of them in success" in capsys.readouterr().out
    change(file, b'"success":true,"system":"oracle"', b'"success":false,"system":"oracle"', 10)
    assert main(one) == 1
    assert "which does not include 0" in capsys.readouterr().out
    file.write_bytes(kept)
    assert sum(o.success for o in read_outcomes(file) if o.system == "oracle") == 24


def test_other_weights_other_versions_and_lost_tasks_are_told(home: Path, capsys, monkeypatch):
    monkeypatch.chdir(home)
    kept = {file: file.read_bytes() for file in (home / "number").iterdir()}
    facts = json.loads((home / "number/provenance.json").read_text())
    facts[-1]["versions"]["numpy"] = "1.0"
    (home / "number/provenance.json").write_text(json.dumps(facts))
    assert main(["reproduce", "number", "--num-tasks", "2"]) == 0
    assert "numpy was 1.0, is " in capsys.readouterr().out
    change(home / "number/outcomes.jsonl", b'"weights_digest":"', b'"weights_digest":"f', 12)
    assert main(["reproduce", "number"]) == 2
    assert "was recorded with the weights f" in capsys.readouterr().err
    for file, data in kept.items():
        file.write_bytes(data)
    (home / "number/taskset-tworoom-heldout-o25-s0.json").unlink()
    assert main(["reproduce", "number"]) == 2
    assert "Restore the file" in capsys.readouterr().err
    for file, data in kept.items():
        file.write_bytes(data)
    assert main(["reproduce", "toy"]) == 2
    assert "expected a run folder" in capsys.readouterr().err
