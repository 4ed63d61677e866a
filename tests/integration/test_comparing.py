"""`dualwm compare` as it is typed: by one process, by workers, by shards that are killed."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dualwm.cli.main import main
from dualwm.records import read_outcomes

COMPARE = [
    "compare", "--systems", "replay", "oracle", "noop", "--offsets", "25", "50", "--seeds", "0", "1",
    "--num-tasks", "6", "--json",
]  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dualwm.evaluate.ledger.default_ledger", lambda: tmp_path / "ledger.jsonl")
    return tmp_path


def test_every_system_runs_on_the_same_tasks_and_the_first_is_set_against_the_others(home: Path, capsys):
    assert main([*COMPARE, "--out", "whole"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["finished"]
    (table,) = told["tables"]
    assert [row["system"] for row in table["rows"]] == ["replay", "oracle", "noop", "random", "marginal"]
    assert {m: tasks["n"] for m, tasks in table["tasks"].items()} == {"25": 12, "50": 12}
    assert table["rows"][0]["offsets"]["50"]["fraction"] == 1.0
    duels = {(duel["second"][0], duel["goal_offset_env_steps"]): duel for duel in table["against_the_first"]}
    assert len(duels) == 8
    assert duels["noop", 50]["tasks"]["difference"] == 1.0
    assert duels["noop", 50]["separated"]
    assert "not separated" in duels["oracle", 50]["sentence"]
    assert len((home / "ledger.jsonl").read_text().splitlines()) == 5 * 2 * 2
    (facts,) = json.loads((home / "whole/provenance.json").read_text())
    assert {"command", "began", "versions", "machine", "commit"} <= set(facts)

    # By shards, the first of them with two workers: the same bytes, and the ledger hears of it once.
    assert main([*COMPARE, "--out", "shared", "--shard", "1/2", "--workers", "2", "--threads", "1"]) == 0
    assert not json.loads(capsys.readouterr().out)["finished"]
    assert len((home / "ledger.jsonl").read_text().splitlines()) == 20
    assert main([*COMPARE, "--out", "shared", "--shard", "2/2"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"][0]["against_the_first"] == table["against_the_first"]
    assert (home / "shared/outcomes.jsonl").read_bytes() == (home / "whole/outcomes.jsonl").read_bytes()
    assert len((home / "ledger.jsonl").read_text().splitlines()) == 40


@pytest.mark.slow
def test_a_comparison_whose_workers_were_killed_with_it_continues_to_the_same_bytes(home: Path, capsys):
    command = [
        "compare", "--systems", "oracle", "marginal", "--offsets", "100", "--seeds", "1000", "--num-tasks", "40",
        "--json", "--batch-size", "4",
    ]  # fmt: skip
    program = subprocess.Popen([sys.executable, "-m", "dualwm", *command, "--out", "killed", "--workers", "2"])
    deadline = time.monotonic() + 250
    try:
        while sum(file.read_bytes().count(b"\n") for file in Path("killed").glob("outcomes.partial-*")) < 10:
            assert time.monotonic() < deadline
            assert program.poll() is None, "it should still be running"
            time.sleep(0.005)
    finally:
        program.kill()
        program.wait()
    assert not Path("killed/outcomes.jsonl").exists()
    assert main([*command, "--out", "killed"]) == 0
    assert main([*command, "--out", "whole"]) == 0
    assert Path("killed/outcomes.jsonl").read_bytes() == Path("whole/outcomes.jsonl").read_bytes()
    assert len(read_outcomes(Path("whole/outcomes.jsonl"))) == 5 * 40


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--systems", "nobody"], "no floor, shipped system or folder"),
        (["--systems", "noop", "--shard", "3/2"], "such as 2/4"),
        (["--systems", "noop:low-only"], "no variants"),
        (["--systems", "noop", "--workers", "0"], "At least one worker"),
        (["--systems", "noop", "--num-tasks", "5000"], "5000"),
    ],
)
def test_mistakes_are_one_paragraph_and_exit_code_2(home: Path, capsys, words: list[str], says: str):
    assert main(["compare", *words, "--seeds", "0", "--out", "wrong"]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1
