"""A stored loss curve and a stored three-stage trace: what should not change numbers leaves these as they are.

Written with `python tests/golden/test_golden.py`; a changed file needs a line in CHANGELOG. Machines differ in the last
bits and training amplifies them, so numbers are compared to a part in a thousand, and choices exactly.
"""

import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import zoo_toy

from dualwm.records import Goal, Observation
from dualwm.train.progress import Silent
from dualwm.zoo.training import train

HERE = Path(__file__).resolve().parent
CURVE, TRACE = HERE / "loss_curve.json", HERE / "trace.json"
STEPS = 30
STAGE = replace(zoo_toy.SETTINGS, steps=STEPS, learning_rate=1e-3, log_every_steps=1, heldout_every_steps=STEPS)


def loss_curve(folder: Path) -> dict[str, list[float]]:
    """Loss by stage over thirty steps of the toy, two cameras and proprio."""
    store = zoo_toy.data(folder / "data")
    assert len(store) == 10
    method = replace(zoo_toy.method(proprio=False, cameras=(zoo_toy.FRONT,)), low_stage=STAGE, high_stage=STAGE)
    recipe = replace(zoo_toy.recipe(method), world="tworoom", episodes=10)
    train(recipe, folder / "run", folder / "data", progress=Silent(), device="cpu")
    lines = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return {
        stage: [line["loss"] for line in lines if line["kind"] == "train" and line["stage"] == stage]
        for stage in ("low", "high")
    }


def trace() -> list[dict[str, object]]:
    """Seven decisions of two tasks: guidance for two, then convergence."""
    system = zoo_toy.system()
    places = np.array([[60.0, 60.0], [160.0, 90.0]])
    controller = system.controller(goal_offset_env_steps=25)
    memory = controller.start(Goal(frames=system.observe(places[::-1]).frames), [0, 5], 42)
    told: list[dict[str, object]] = []
    chunk = None
    for number in range(7):
        seen = system.observe(places + 2.0 * number)
        chunk, memory, decision = controller.act(memory, Observation(frames=seen.frames, executed=chunk))
        told.append(
            {
                "stage": decision.stage.tolist(),
                "routed": decision.routed.tolist(),
                "progress": decision.progress.tolist(),
                "best_cost": decision.best_cost[:, -1].tolist(),
                "distance_high": decision.distance_high.tolist(),
                "first_action": chunk[:, 0].tolist(),
            }
        )
    return told


def test_thirty_steps_of_training_lose_what_they_lost_before(tmp_path: Path):
    stored, found = json.loads(CURVE.read_text()), loss_curve(tmp_path)
    assert found.keys() == stored.keys()
    for stage, losses in stored.items():
        assert len(losses) == STEPS
        np.testing.assert_allclose(found[stage], losses, rtol=1e-3)


@pytest.mark.parametrize("number", range(7))
def test_a_decision_is_what_it_was_before(number: int):
    stored, found = json.loads(TRACE.read_text())[number], trace()[number]
    for name in ("stage", "routed", "progress"):
        assert found[name] == stored[name], name
    for name in ("best_cost", "distance_high", "first_action"):
        np.testing.assert_allclose(found[name], stored[name], rtol=1e-3, atol=1e-4, err_msg=name)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        CURVE.write_text(json.dumps(loss_curve(Path(folder)), indent=1) + "\n")
    TRACE.write_text(json.dumps(trace(), indent=1) + "\n")
