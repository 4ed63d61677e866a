"""Labels of a real system's failures: every failure gets one, and the figures are those of its world."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import zoo_toy

from dualwm.cli.main import main
from dualwm.evaluate.failures import LABELS
from dualwm.records import Goal, read_outcomes
from dualwm.zoo.minds import CANDIDATES, ThreeStageMind
from dualwm.zoo.system import Bank, System


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system of random weights with a bank, evaluated."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr("dualwm.evaluate.ledger.default_ledger", lambda: None)
        system = zoo_toy.system()
        states = np.random.default_rng(0).uniform(30, 190, (200, 2)).astype(np.float32)
        system.save(Path("toy"), Bank(states, system.describe_states(states)))
        words = ["--offset", "25", "--seeds", "0", "1", "--num-tasks", "4", "--json", "--out", "run"]
        assert main(["eval", "toy", *words]) == 0
    return home


def test_every_failure_of_a_run_gets_one_label(home: Path, capsys, monkeypatch):
    monkeypatch.chdir(home)
    failed = [(o.seed, o.task) for o in read_outcomes(Path("run/outcomes.jsonl")) if not o.success]
    assert failed, "random weights fail"
    capsys.readouterr()
    assert main(["failures", "run", "--json"]) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert list(cell["labels"]) == list(LABELS)
    assert sum(cell["labels"].values()) == len(failed)
    lines = [json.loads(line) for line in Path("run/failures.jsonl").read_text().splitlines()]
    assert [(line["seed"], line["task"]) for line in lines] == failed
    assert {line["stage"] for line in lines} <= {"refine", "converge", "reuse"}
    # TwoRoom's tasks were walked by its behaviour: they can be.
    assert cell["labels"]["not replayable"] == 0
    once = Path("run/failures.jsonl").read_bytes()
    assert main(["failures", "run"]) == 0
    assert Path("run/failures.jsonl").read_bytes() == once
    assert "| toy, offset 25 |" in capsys.readouterr().out


def test_a_mind_repeats_the_plan_and_the_cost_that_were_used(home: Path, monkeypatch):
    monkeypatch.chdir(home)
    system = System.load(Path("toy"))
    for variant in ("full", "low-only"):
        mind = ThreeStageMind.of(system, variant, 25, {})
        states = np.array([[60.0, 100.0], [150.0, 80.0]])
        seen = system.observe(states)
        before = mind.controller.start(Goal(frames=system.observe(states[::-1]).frames), [3, 8], 1000)
        chunk, after, decision = mind.controller.act(before, seen)
        thoughts = mind.think(before, seen, after, chunk)
        assert thoughts.plan.shape == (2, 4 * 5, 2)
        np.testing.assert_allclose(thoughts.plan[:, :5], chunk, atol=1e-6)
        assert thoughts.candidates.shape == (2, CANDIDATES, 20, 2)
        np.testing.assert_array_equal(thoughts.candidates[:, 0], thoughts.plan)
        assert thoughts.imagined.shape == (2, 4, 2)
        assert np.isin(thoughts.imagined, system.bank.states).all()
        if variant == "low-only":
            # The plan's cost is the predicted distance at its end.
            model = mind.controller.model
            context = after.history[:, -1:]
            blocks = torch.cat([mind.controller.actions.to_model(chunk)[:, None], after.plan[:, :-1]], 1)
            end = model.roll_low(context, blocks)[:, -1]
            np.testing.assert_allclose(thoughts.cost[:, 0], end.distance(after.goal_L).numpy(), rtol=1e-4)
        # Thinking aloud is a function of the memory: asked twice, it says the same.
        again = mind.think(before, seen, after, chunk)
        np.testing.assert_array_equal(again.cost, thoughts.cost)
        del decision


def test_the_larger_search_is_ten_times_as_large(home: Path, monkeypatch):
    monkeypatch.chdir(home)
    mind = ThreeStageMind.of(System.load(Path("toy")), "full", 25, {"low_search": "7/2/3"})
    sizes = mind.larger.settings  # pyright: ignore[reportAttributeAccessIssue]
    assert str(sizes.low_search) == "70/2/3"
    assert str(sizes.high_search) == "60/2/3"
