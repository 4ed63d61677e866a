import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from evaluate_toy import WORLD, Homing, entrant, go, line_tasks

from dualwm.errors import ProtocolError
from dualwm.evaluate import ledger as ledgers
from dualwm.evaluate.cell import evaluate_cell
from dualwm.evaluate.closed_loop import Timings
from dualwm.evaluate.ledger import append_ledger, commit_of
from dualwm.evaluate.outcomes import RunFolder
from dualwm.evaluate.summary import joint_digest, summarise
from dualwm.evaluate.tasks import quantiles
from dualwm.stats import wilson

DISTANCES = [-3, 0.2, -12, 60, 7, -49, -51, 18]
TASKSETS = [line_tasks(DISTANCES, seed=seed) for seed in (0, 42)]


def cell(tasksets=TASKSETS, **options):
    return evaluate_cell(WORLD, entrant(Homing(chunk=5)), tasksets, variant="plain", **options)


def test_a_summary_says_what_eval_must_print():
    plain = cell().to_plain()
    assert plain["success"] == 12 / 16
    assert plain["ci95"] == pytest.approx(list(wilson(12, 16)))
    assert plain["n"] == 16
    assert plain["initially_solved"] == 1 / 8
    assert plain["not_initially_solved"]["n"] == 14
    assert plain["not_initially_solved"]["success"] == 10 / 14
    # In the other room 100 px away or more: -12, -49, -51; the last is out of reach.
    assert (plain["cross_room_100px"]["n"], plain["cross_room_100px"]["success"]) == (6, 4 / 6)
    assert plain["cross_room_100px_share"] == 3 / 8
    assert plain["path_px"] == quantiles([10.0 * abs(d) for d in DISTANCES * 2])
    assert (plain["system"], plain["threads"], plain["precision"]) == ("toy", 1, "float32")
    assert (plain["protocol"], plain["rule"], plain["collection"]) == ("heldout", "near", "test")
    assert (plain["goal_offset_env_steps"], plain["budget_env_steps"]) == (25, 50)
    assert [seed["seed"] for seed in plain["per_seed"]] == [0, 42]
    assert [seed["success"] for seed in plain["per_seed"]] == [6 / 8, 6 / 8]
    assert [seed["taskset_digest"] for seed in plain["per_seed"]] == [t.digest for t in TASKSETS]
    assert plain["taskset_digest"] == joint_digest(TASKSETS) == joint_digest(TASKSETS[::-1])
    assert 0 <= plain["floor_random"] < plain["success"]
    assert plain["planning_ms_per_env_step"] > 0
    assert plain["planning_ms_single"] > 0
    assert plain["planning_ms_p50"] <= plain["planning_ms_p95"]
    assert json.loads(json.dumps(plain)) == plain


def test_one_seed_has_its_own_digest():
    assert cell(TASKSETS[:1]).taskset_digest == TASKSETS[0].digest


def test_the_random_floor_is_measured_on_the_same_tasks(tmp_path: Path):
    near = [line_tasks([0.2, 0.6, 0.7, 0.8], seed=1000)]
    found = evaluate_cell(WORLD, entrant(), near, variant="plain", folder=RunFolder(path=tmp_path))
    assert found.floor_random == found.success > 0


def test_planning_time_is_seconds_over_steps_and_single_time_is_kept(tmp_path: Path):
    first = cell(folder=RunFolder(path=tmp_path))
    assert cell(folder=RunFolder(path=tmp_path)) == first
    timings = Timings(planning_seconds=3.0, env_steps=1500, decision_ms_per_env_step=(1.0, 2.0, 9.0))
    outcomes = [o for t in TASKSETS for o in go(Homing(), t).outcomes]
    found = summarise(
        TASKSETS, outcomes, floor_random=outcomes, timings=timings, planning_ms_single=4.0, threads=2, precision="bf16"
    )
    assert (found.planning_ms_per_env_step, found.planning_ms_p50, found.planning_ms_single) == (2.0, 2.0, 4.0)
    steps = [o.steps for o in outcomes if o.success]
    assert found.env_steps_to_success_median == np.median(steps)


def test_incomplete_or_mixed_outcomes_give_no_number():
    outcomes = [o for t in TASKSETS for o in go(Homing(), t).outcomes]
    about = {"timings": Timings(), "planning_ms_single": None, "threads": 1, "precision": "float32"}
    wrong = {
        "1 tasks without one": outcomes[:-1],
        "1 of other tasks": [*outcomes, replace(outcomes[0], taskset_digest="other")],
        "17 outcomes": [*outcomes, outcomes[0]],
        r"systems \['other', 'toy'\]": [replace(outcomes[0], system="other"), *outcomes[1:]],
    }
    for told, some in wrong.items():
        with pytest.raises(ProtocolError, match=told):
            summarise(TASKSETS, some, floor_random=outcomes, **about)
        with pytest.raises(ProtocolError, match=told):
            summarise(TASKSETS, outcomes, floor_random=some, **about)
    for other in (line_tasks(DISTANCES, seed=1, offset=50), line_tasks(DISTANCES, seed=1000), TASKSETS[0]):
        with pytest.raises(ProtocolError, match="One number stands for"):
            summarise([*TASKSETS, other], outcomes, floor_random=outcomes, **about)


def test_every_test_evaluation_adds_its_line_to_the_ledger_once(tmp_path: Path):
    ledger, folder = tmp_path / "results" / "ledger.jsonl", RunFolder(path=tmp_path / "run")
    for _ in range(2):
        cell(ledger=ledger, folder=folder)
        lines = [json.loads(line) for line in ledger.read_text().splitlines()]
        assert [(line["seed"], line["n"], line["success"]) for line in lines] == [(0, 8, 0.75), (42, 8, 0.75)]
    assert lines[0]["taskset_digest"] == TASKSETS[0].digest
    assert (lines[0]["system"], lines[0]["weights_digest"]) == ("toy", "w")
    assert {"commit", "goal_offset_env_steps", "protocol", "rule", "world"} <= set(lines[0])
    cell(ledger=ledger)
    assert len(ledger.read_text().splitlines()) == 4


def test_dev_evaluations_leave_no_line(tmp_path: Path):
    cell([line_tasks(DISTANCES, seed=1000)], ledger=tmp_path / "ledger.jsonl")
    assert not (tmp_path / "ledger.jsonl").exists()


def test_the_commit_is_told_and_so_is_a_changed_tree(tmp_path: Path):
    def git(*words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        return subprocess.run(["git", "-C", str(tmp_path), *who, *words], capture_output=True, text=True).stdout.strip()

    assert commit_of(tmp_path) is None
    git("init", "-q")
    (tmp_path / "results").mkdir()
    (tmp_path / "code.py").write_text("1")
    (tmp_path / "results" / "ledger.jsonl").write_text("")
    git("add", ".")
    git("commit", "-q", "-m", "one")
    head = git("rev-parse", "HEAD")
    assert len(head) == 40
    append_ledger(tmp_path / "results" / "ledger.jsonl", TASKSETS[0], go(Homing(), TASKSETS[0]).outcomes, head)
    assert commit_of(tmp_path) == head
    (tmp_path / "code.py").write_text("2")
    assert commit_of(tmp_path) == head + "+"


def test_only_a_checkout_of_this_project_has_a_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    inside = tmp_path / "src" / "dualwm" / "evaluate"
    inside.mkdir(parents=True)
    monkeypatch.setattr(ledgers, "__file__", str(inside / "ledger.py"))
    assert ledgers.default_ledger() is None
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    assert ledgers.default_ledger() is None
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "dualwm"\n')
    assert ledgers.default_ledger() == tmp_path / "results" / "ledger.jsonl"
