"""A run folder to look at: random weights in TwoRoom, full and low-only, compared; one of the failures is labelled."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import zoo_toy

from dualwm.cli.main import main
from dualwm.records import read_outcomes
from dualwm.zoo.system import Bank


@contextmanager
def compared(home: Path) -> Iterator[Path]:
    """The run, made in a folder that is the working one as long as this lasts: the system is named relative to it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr("dualwm.evaluate.ledger.default_ledger", lambda: None)
        system = zoo_toy.system()
        states = np.random.default_rng(0).uniform(30, 190, (200, 2)).astype(np.float32)
        system.save(Path("toy"), Bank(states, system.describe_states(states)))
        words = ["--offsets", "25", "--seeds", "0", "--num-tasks", "3", "--json", "--timed-tasks", "0"]
        assert main(["compare", "--systems", "toy", "toy:low-only", *words, "--out", "run"]) == 0
        failed = next(o for o in read_outcomes(Path("run/outcomes.jsonl")) if o.system == "toy" and not o.success)
        line = {"system": "toy", "goal_offset_env_steps": 25, "seed": 0, "task": failed.task, "label": "mis-ranked"}
        Path("run/failures.jsonl").write_text(json.dumps({**line, "stage": "converge"}) + "\n")
        yield Path("run")
