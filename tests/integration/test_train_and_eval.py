"""The two verbs a researcher lives with, as they are typed: train a recipe, evaluate the folder; stop, and go on."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import dualwm
from dualwm.cli.main import main
from dualwm.records import read_outcomes
from dualwm.train import loop
from dualwm.zoo.folder import weight_bytes
from dualwm.zoo.system import System

RECIPE = "tworoom/tiny"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert main(["train", RECIPE, "--seed", "3", "--json"]) == 0
    return home


@pytest.fixture
def home(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the training run, with a ledger that is nobody's."""
    monkeypatch.chdir(trained)
    monkeypatch.setattr("dualwm.evaluate.ledger.default_ledger", lambda: tmp_path / "ledger.jsonl")
    return trained


def told(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


EVAL = ["eval", "runs/tworoom-tiny-3", "--offset", "25", "--seeds", "0", "1", "--num-tasks", "4", "--json"]


def test_training_records_its_data_and_leaves_a_system_that_says_how_it_came_to_be(home: Path):
    system = System.load(home / "runs/tworoom-tiny-3")
    assert (home / "data/tworoom-train-60/meta.json").exists()
    facts = system.provenance
    assert facts["recipe"] == RECIPE
    assert facts["seed"] == 3
    assert [(stage["name"], stage["steps"]) for stage in facts["stages"]] == [("low", 20), ("high", 20)]
    assert facts["weights_digest"] == system.weights_digest
    assert len(system.bank.states) == 2000
    assert "/" not in json.dumps(facts["machine"])


def test_the_same_command_finds_the_run_finished_and_another_seed_is_another_run(home: Path, capsys):
    weights = (home / "runs/tworoom-tiny-3/model.safetensors").read_bytes()
    assert main(["train", RECIPE, "--seed", "3"]) == 0
    assert "System folder: runs/tworoom-tiny-3" in capsys.readouterr().out
    assert (home / "runs/tworoom-tiny-3/model.safetensors").read_bytes() == weights


def test_a_run_that_was_stopped_ends_with_the_bits_of_one_that_was_not(home: Path, capsys, monkeypatch):
    command = ["train", RECIPE, "--seed", "3", "--out", "runs/stopped"]
    with monkeypatch.context() as patch:
        real = loop.StageLoop._step
        steps: list[int] = []

        def interrupted(self, *args):
            steps.append(1)
            if len(steps) == 27:
                raise KeyboardInterrupt
            return real(self, *args)

        patch.setattr(loop.StageLoop, "_step", interrupted)
        assert main(command) == 3
        assert "type the same command again to continue" in capsys.readouterr().out
    assert main(command) == 0
    whole, stopped = (home / "runs" / name / "model.safetensors" for name in ("tworoom-tiny-3", "stopped"))
    assert stopped.read_bytes() == whole.read_bytes()


def test_an_estimate_trains_and_records_nothing_and_says_what_it_does(tmp_path: Path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", RECIPE, "--estimate", "--json", "--device", "cpu"]) == 0
    said = capsys.readouterr()
    facts = json.loads(said.out)
    assert [stage["name"] for stage in facts["stages"]] == ["low", "high"]
    assert "60 episodes, simulated for a moment" in said.err
    assert "Timing 20 steps of stage high" in said.err
    assert list(tmp_path.iterdir()) == []


def test_json_is_the_only_thing_on_standard_output_and_of_several_processes_one_prints(home: Path, capsys, monkeypatch):
    command = ["train", RECIPE, "--seed", "3", "--json"]
    assert main(command) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["finished"]
    assert "finished already" in said.err
    monkeypatch.setenv("RANK", "1")
    for words in (command, command[:-1], [*command, "--estimate"]):
        assert main(words) == 0
        assert "{" not in (said := capsys.readouterr().out)
        assert "System folder" not in said


def test_eval_prints_what_is_promised_and_leaves_its_line_in_the_ledger(home: Path, capsys, tmp_path):
    assert main(EVAL) == 0
    facts = told(capsys)
    promised = (
        "success ci95 n initially_solved floor_random planning_ms_per_env_step planning_ms_single threads precision "
        "protocol taskset_digest per_seed"
    )
    assert set(promised.split()) <= set(facts)
    assert facts["n"] == 8
    assert facts["ci95"][0] <= facts["success"] <= facts["ci95"][1]
    assert [row["seed"] for row in facts["per_seed"]] == [0, 1]
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["n"], line["weights_digest"]) for line in lines] == [
        (0, 4, facts["weights_digest"]),
        (1, 4, facts["weights_digest"]),
    ]


def test_an_evaluation_that_was_stopped_runs_what_is_missing_to_the_same_bytes(home: Path, capsys, monkeypatch):
    assert main([*EVAL, "--out", "evals/whole"]) == 0
    first = told(capsys)
    file = home / "evals/whole/outcomes.jsonl"
    whole = file.read_bytes()
    assert len(read_outcomes(file)) == 8
    assert main([*EVAL, "--out", "evals/stopped", "--num-tasks", "4"]) == 0
    stopped = home / "evals/stopped/outcomes.jsonl"
    stopped.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    capsys.readouterr()
    assert main([*EVAL, "--out", "evals/stopped"]) == 0
    assert stopped.read_bytes() == whole
    assert told(capsys)["success"] == first["success"]


def test_a_folder_holds_the_results_of_one_system_as_it_was(home: Path, capsys):
    """The same words after another training, or with another planner.json, are another evaluation."""
    own = home / "runs/own"
    shutil.copytree(home / "runs/tworoom-tiny-3", own)
    command = ["eval", "runs/own", *EVAL[2:], "--out", "evals/own"]
    assert main(command) == 0
    planner = json.loads((own / "planner.json").read_text())
    planner["offsets"]["25"]["guided_decisions"] = 1
    (own / "planner.json").write_text(json.dumps(planner))
    assert main(command) == 2
    assert "settings was" in capsys.readouterr().err
    shutil.rmtree(own)
    shutil.copytree(home / "runs/tworoom-tiny-3", own)
    weights = System.load(own)
    with torch.no_grad():
        next(weights.model.parameters()).add_(1e-3)
    (own / "model.safetensors").write_bytes(weight_bytes(weights.model))
    assert main(command) == 2
    assert "weights_digest was" in capsys.readouterr().err


def test_the_summary_for_people_is_printed_where_no_task_is_hard(home: Path, capsys):
    """At offset 25 no path is 100 px long."""
    assert main([word for word in EVAL if word != "--json"]) == 0
    said = capsys.readouterr().out
    assert "on the hard ones" not in said
    assert "shortest paths" in said
    assert main(["eval", "noop", "--offset", "100", "--seeds", "1", "--num-tasks", "4"]) == 0
    assert "on the hard ones" in capsys.readouterr().out


def test_python_evaluations_of_test_tasks_enter_the_ledger_as_well(home: Path, tmp_path: Path):
    dualwm.evaluate("noop", seeds=(1,), num_tasks=4)
    (line,) = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text().splitlines()]
    assert (line["system"], line["seed"], line["n"], line["variant"]) == ("noop", 1, 4, "snap")
    dualwm.evaluate("noop", seeds=(1,), num_tasks=4, ledger=None)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1


def test_batch_size_and_threads_change_no_outcome(home: Path, capsys):
    assert main([*EVAL, "--out", "evals/one", "--batch-size", "1", "--threads", "1"]) == 0
    assert main([*EVAL, "--out", "evals/all"]) == 0
    one, together = (home / "evals" / name / "outcomes.jsonl" for name in ("one", "all"))
    assert one.read_bytes() == together.read_bytes()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["eval", "runs/tworoom-tiny-4"], "no floor, shipped system or folder"),
        (["eval", "random", "--task", "tworom"], "no world named 'tworom'"),
        (["eval", "random", "--variant", "snip"], "no dynamics variant 'snip'"),
        (["eval", "random", "--num-tasks", "5000"], "5000"),
        (["eval", "noop", "--seeds"], "at least one seed"),
        (["eval", "noop", "--seeds", "1", "1", "--num-tasks", "4"], "seeds [1, 1]"),
        (["eval", "noop", "--threads", "0"], "--threads must be at least 1"),
        (["eval", "noop", "--batch-size", "-3"], "--batch-size must be at least 1"),
        (["eval", "noop", "--out", "own.txt"], "own.txt is a file"),
        (["train", "tworoom/tinny"], "no recipe 'tworoom/tinny'"),
        (["train", RECIPE, "--device", "cda"], "Did you mean 'cuda'?"),
        (["train", RECIPE, "--estimate", "--device", "cda"], "found 'cda'"),
        (["train", RECIPE, "--out", "data/tworoom-train-60"], "holds no run.json but episodes.jsonl"),
        (["train", RECIPE, "--out", "data/tworoom-train-60/meta.json"], "it is a file"),
        (["train", RECIPE, "--data", "data/nowhere"], "is not a data set"),
        (["eval", "runs/tworoom-tiny-3:lowonly"], "no planner variant 'lowonly'"),
        (["eval", "runs/tworoom-tiny-3:serch=1/1/1"], "'serch'"),
    ],
)
def test_mistakes_are_one_paragraph_and_exit_code_2(home: Path, capsys, words: list[str], says: str):
    (home / "own.txt").touch()
    assert main(words) == 2
    error = capsys.readouterr().err
    assert says in error
    assert len(error.strip().splitlines()) == 1


def test_a_settings_change_needs_another_folder(home: Path, capsys):
    own = home / "own.py"
    own.write_text(
        "from dataclasses import replace\nfrom dualwm.recipes import find_recipe\n\n"
        "def mine():\n    return replace(find_recipe('tworoom/tiny'), image_size=32, max_env_steps=150)\n"
    )
    assert main(["train", f"{own}:mine", "--seed", "3", "--out", "runs/tworoom-tiny-3"]) == 2
    assert "max_env_steps" in capsys.readouterr().err
