"""Eq. (7) on real modules: which gradients flow, what a clip's last action is worth, what a true model pays."""

from dataclasses import replace

import pytest
import torch
import zoo_toy
from toys import IntegratorDynamics, IntegratorWorld

from dualwm.loss.lore import Rollout
from dualwm.nets.dropout import DropoutKey, keyed
from dualwm.reduce import ALONE
from dualwm.train.stage import StepKey
from dualwm.zoo.dual_wm import HighObjective, LowObjective, high_terms, low_terms, objective, weights

METHOD = zoo_toy.wide_dropout_off(zoo_toy.method())
K, N, M = METHOD.model.window, METHOD.low.rollout.steps, METHOD.high.rollout.steps
T = K * (1 + M)
B, WIDTH = 6, METHOD.model.low.width


def step() -> StepKey:
    return StepKey(3, 0, torch.arange(B))


def clip(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Latents and blocks of B clips, as long as the high level needs."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(B, T, WIDTH, generator=generator)
    return z, torch.randn(B, T, METHOD.model.block_width, generator=generator)


def low(model, z, a, c: LowObjective = METHOD.low):
    return low_terms(model.low, z, a, c, step(), c.rollout.steps, ALONE)


def high(model, z, a, c: HighObjective = METHOD.high):
    return high_terms(model.high, z, a, K, c, step(), c.rollout.steps, 0.5, ALONE)


def grads(module: torch.nn.Module) -> list[torch.Tensor | None]:
    return [p.grad for p in module.parameters()]


def test_every_term_has_a_weight_and_every_weight_a_term():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    named = objective(model, z, a, METHOD.low, METHOD.high, step(), 0.5, ALONE)
    assert named.keys() == weights(METHOD.low, METHOD.high).keys()
    assert low(model, z, a).keys() == weights(METHOD.low, None).keys()
    assert high(model, z, a).keys() == weights(None, METHOD.high).keys()
    changed = replace(METHOD.high, lore_weight=2.0, regulariser_weight=3.0, maps_weight=4.0)
    assert weights(None, changed) == {"lore_high": 2.0, "gauss_high": 3.0, "maps": 4.0}


def test_the_joint_objective_is_the_terms_of_both_levels_side_by_side():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    both = objective(model, z, a, METHOD.low, METHOD.high, step(), 0.5, ALONE)
    n = METHOD.model.low.history + N
    apart = low(model, z[:, :n], a[:, :n]) | high(model, z, a)
    assert both.keys() == apart.keys()
    assert all(torch.equal(both[name], apart[name]) for name in both)


def test_high_terms_leave_the_low_level_without_gradient():
    model = zoo_toy.stirred(METHOD).train()
    z, a = clip()
    z.requires_grad_(True)
    sum(high(model, z, a).values()).backward()
    assert z.grad is None
    assert all(grad is None for grad in grads(model.low))
    assert any(grad is not None and grad.abs().sum() > 0 for grad in grads(model.high))


def test_the_joint_objective_gives_the_low_level_the_gradients_of_its_own_terms_alone():
    z, a = clip()
    found: list[list[torch.Tensor | None]] = []
    for both in (True, False):
        model, leaf = zoo_toy.stirred(METHOD), z.clone().requires_grad_(True)
        terms = objective(model, leaf, a, METHOD.low, METHOD.high, step(), 0.5, ALONE)
        chosen = terms if both else {name: terms[name] for name in ("lore_low", "gauss_low")}
        sum(chosen.values()).backward()
        found.append([leaf.grad, *grads(model.low)])
    assert all(torch.equal(x, y) for x, y in zip(*found, strict=True) if x is not None and y is not None)
    assert [x is None for x in found[0]] == [y is None for y in found[1]]


@pytest.mark.parametrize("flows", [True, False])
def test_targets_receive_gradient_where_the_paper_says_so_and_not_where_it_is_switched_off(flows: bool):
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    z.requires_grad_(True)
    c = replace(METHOD.low, rollout=replace(METHOD.low.rollout, target_gradient=flows))
    low(model, z[:, : 2 + N], a[:, : 2 + N], c)["lore_low"].backward()
    assert z.grad is not None
    last_is_target_only = z.grad[:, 1 + N].abs().sum()
    assert (last_is_target_only > 0) == flows
    assert z.grad[:, 0].abs().sum() > 0


def test_the_true_model_pays_nothing_and_a_drifting_one_pays_its_drift():
    z, a = IntegratorWorld().episode(B, 9)
    for drift in (0.0, 0.5):
        model = zoo_toy.stirred(METHOD)
        model.low.P_L = IntegratorDynamics(2, drift)
        model.low.embed_action = torch.nn.Identity()
        paid = low(model, z, a, replace(METHOD.low, rollout=Rollout(steps=1)))["lore_low"]
        assert float(paid.detach()) == pytest.approx(drift**2)


@pytest.mark.parametrize("level", ["low", "high"])
def test_the_last_block_of_a_clip_changes_no_loss(level: str):
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    if level == "low":
        z, a = z[:, : 2 + N], a[:, : 2 + N]
    other = a.clone()
    other[:, -1] += 5
    terms = low if level == "low" else high
    first, second = terms(model, z, a), terms(model, z, other)
    assert all(torch.equal(first[name], second[name]) for name in first)
    other[:, -2] += 5
    assert any(not torch.equal(first[name], x) for name, x in terms(model, z, other).items())


def test_macro_actions_are_sampled_in_training_and_their_means_otherwise():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    calm = [high(model, z, a)["lore_high"] for _ in range(2)]
    assert torch.equal(*calm)
    model.train()
    noisy = high(model, z, a)["lore_high"]
    assert not torch.equal(noisy, calm[0])
    assert torch.equal(noisy, high(model, z, a)["lore_high"])
    elsewhere = high_terms(model.high, z, a, K, METHOD.high, StepKey(4, 0, torch.arange(B)), M, 0.5, ALONE)
    assert not torch.equal(elsewhere["lore_high"], noisy)


def test_repeated_frames_change_the_share_of_the_batch_that_was_asked_for():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    z[:, :K] = torch.randn(B, K, WIDTH)
    plain = replace(METHOD.high, repeated_share=0.0)
    still = replace(METHOD.high, repeated_share=1.0)
    assert torch.equal(high(model, z, a, plain)["gauss_high"], high(model, z, a, still)["gauss_high"])
    assert not torch.equal(high(model, z, a, plain)["lore_high"], high(model, z, a, still)["lore_high"])
    # Windows that already repeat one frame are what the option would make of them.
    frozen = z[:, K - 1 :: K].repeat_interleave(K, 1)
    pair = [high(model, frozen, a, c)["lore_high"] for c in (plain, still)]
    torch.testing.assert_close(*pair)


def test_dropout_masks_are_those_of_the_step_and_the_sample():
    model = zoo_toy.stirred(zoo_toy.method()).train()
    z, a = clip()

    def loss(number: int) -> torch.Tensor:
        with keyed(model, DropoutKey(3, number, torch.arange(B))):
            return low(model, z[:, : 2 + N], a[:, : 2 + N])["lore_low"].detach()

    assert torch.equal(loss(0), loss(0))
    assert not torch.equal(loss(0), loss(1))
