"""Both levels at once, as Eq. (7) is written: a joint run trains, breaks off, continues, and grows its horizons."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import zoo_toy

from dualwm.data.store import Store
from dualwm.loss.lore import Rollout
from dualwm.train.progress import Silent
from dualwm.train.stage import StepKey
from dualwm.zoo import dual_wm
from dualwm.zoo.dual_wm import JointStage
from dualwm.zoo.training import Trained, build, train

BASE = zoo_toy.method(cameras=(zoo_toy.FRONT,), proprio=False)
GROWING = Rollout(steps=2, horizon="curriculum", supervision="endpoint")
METHOD = replace(
    BASE,
    schedule="joint",
    low=replace(BASE.low, rollout=GROWING),
    high=replace(BASE.high, rollout=GROWING),
    low_stage=replace(BASE.low_stage, steps=4, checkpoint_every_steps=1),
)
RECIPE = replace(zoo_toy.recipe(METHOD), world="tworoom", episodes=10)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    zoo_toy.data(folder)
    return folder


def run(out: Path, data: Path) -> Trained:
    return train(RECIPE, out, data, progress=Silent(), device="cpu")


def tensors(done: Trained) -> dict[str, torch.Tensor]:
    assert done.system is not None
    return done.system.model.state_dict()


def test_a_joint_run_trains_both_levels_and_continues_where_it_broke_off(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole = run(tmp_path / "whole", data)
    assert [(stage.name, stage.steps) for stage in whole.summary.stages] == [("joint", 4)]
    before, after = build(RECIPE, 0).state_dict(), tensors(whole)
    moved = {".".join(name.split(".")[:2]) for name, x in after.items() if not torch.equal(x, before[name])}
    assert moved == {"low.E_L", "low.embed_action", "low.P_L", "high.E_H", "high.P_H", "high.E_A"}

    terms = JointStage.terms

    def breaking(self, model, batch, step):
        if torch.is_grad_enabled() and step.step == 2:
            raise OSError("the disk is gone")
        return terms(self, model, batch, step)

    with monkeypatch.context() as patch:
        patch.setattr(JointStage, "terms", breaking)
        with pytest.raises(OSError, match="the disk is gone"):
            run(tmp_path / "broken", data)
    continued = tensors(run(tmp_path / "broken", data))
    assert all(torch.equal(x, continued[name]) for name, x in after.items())


def test_the_horizons_of_both_levels_grow_while_a_joint_run_trains(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    grown: list[int] = []
    horizon = dual_wm.horizon

    def noted(rollout: Rollout, step: StepKey) -> int:
        steps = horizon(rollout, step)
        grown.extend([steps] if torch.is_grad_enabled() else [])
        return steps

    monkeypatch.setattr(dual_wm, "horizon", noted)
    run(tmp_path, data)
    assert grown == [1, 1, 1, 1, 2, 2, 2, 2], "of low and high by turns, over four steps"


@pytest.mark.parametrize(("progress", "steps"), [(0.0, 1), (0.49, 1), (0.5, 2), (1.0, 2)])
def test_a_curriculum_pays_what_rollouts_of_its_present_length_would(data: Path, progress: float, steps: int):
    inputs = zoo_toy.inputs(Store.open(data), METHOD)
    growing, fixed = (
        JointStage(
            METHOD.model, METHOD.low_stage, replace(METHOD.low, rollout=law), replace(METHOD.high, rollout=law), inputs
        )
        for law in (GROWING, replace(GROWING, steps=steps, horizon="fixed"))
    )
    batch = growing.sources()[0].read(np.arange(4))
    model, key = zoo_toy.stirred(METHOD), StepKey(1, 0, torch.arange(4), progress)
    paid, expected = growing.terms(model, batch, key), fixed.terms(model, batch, key)
    for term in ("lore_low", "lore_high", "maps"):
        assert torch.equal(paid[term], expected[term]), term
