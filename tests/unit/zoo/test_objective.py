"""Eq. (7) on real modules: which gradients flow, what a clip's last action is worth, what a true model pays."""

from dataclasses import replace

import pytest
import torch
import zoo_toy
from toys import IntegratorDynamics, IntegratorWorld

from dualwm.errors import RecipeError
from dualwm.loss.lore import Rollout
from dualwm.loss.maps import Maps, kl_per_dimension, maps
from dualwm.nets.dropout import DropoutKey, keyed
from dualwm.reduce import ALONE
from dualwm.train.stage import StepKey
from dualwm.zoo.dual_wm import (
    HighObjective,
    LowObjective,
    high_terms,
    low_terms,
    objective,
    weights,
    with_repeated_frames,
)

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
    return low_terms(model.low, z, a, c, step(), ALONE)


def high(model, z, a, c: HighObjective = METHOD.high):
    return high_terms(model.high, z, a, K, c, step(), ALONE)


def grads(module: torch.nn.Module) -> list[torch.Tensor | None]:
    return [p.grad for p in module.parameters()]


def test_every_term_has_a_weight_and_every_weight_a_term():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    named = objective(model, z, a, METHOD.low, METHOD.high, step(), ALONE)
    assert named.keys() == weights(METHOD.low, METHOD.high).keys()
    assert low(model, z, a).keys() == weights(METHOD.low, None).keys()
    assert high(model, z, a).keys() == weights(None, METHOD.high).keys()
    changed = replace(METHOD.high, lore_weight=2.0, regulariser_weight=3.0, maps_weight=4.0)
    assert weights(None, changed) == {"lore_high": 2.0, "gauss_high": 3.0, "maps": 4.0}


def test_the_joint_objective_is_the_terms_of_both_levels_side_by_side():
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    both = objective(model, z, a, METHOD.low, METHOD.high, step(), ALONE)
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
        terms = objective(model, leaf, a, METHOD.low, METHOD.high, step(), ALONE)
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
    elsewhere = high_terms(model.high, z, a, K, METHOD.high, StepKey(4, 0, torch.arange(B)), ALONE)
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


def test_the_shares_of_still_starts_and_still_targets_are_equal() -> None:
    high = zoo_toy.stirred(METHOD).high
    count, k = 400, K
    W = torch.randn(count, 1 + M, k, WIDTH, generator=torch.Generator().manual_seed(2))
    z_H = high.E_H(W.flatten(0, 1)).unflatten(0, (count, -1))
    start, target = with_repeated_frames(high, W, z_H, 0.5, StepKey(3, 0, torch.arange(count)))
    begins = (start != z_H[:, :1]).flatten(1).any(1)
    arrives = (target != z_H[:, 1:]).flatten(1).any(1)
    assert not (begins & arrives).any()
    for share in (begins.float().mean(), arrives.float().mean()):
        assert float(share) == pytest.approx(0.25, abs=0.08)


def test_repeated_frames_stay_the_same_however_the_batch_is_shared() -> None:
    model = zoo_toy.stirred(zoo_toy.method()).train()
    z, a = clip()
    c = replace(METHOD.high, repeated_share=0.7)

    def error(ids: torch.Tensor) -> torch.Tensor:
        key = StepKey(5, 2, ids)
        with keyed(model, DropoutKey(5, 2, ids)):
            return high_terms(model.high, z[ids], a[ids], K, c, key, ALONE)["lore_high"].detach()

    whole = error(torch.arange(B))
    halves = [error(torch.arange(begin, begin + B // 2)) for begin in (0, B // 2)]
    torch.testing.assert_close(whole, torch.stack(halves).mean())


class Halves:
    """A `Reduce` of two processes seen from the first: what the other one holds is given."""

    world = 2

    def __init__(self, other: torch.Tensor) -> None:
        self.other = other

    def sum(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.other

    def gather(self, x: torch.Tensor, dim: int) -> torch.Tensor:
        raise AssertionError(f"nothing is gathered along {dim} here")


def test_free_bits_clamp_the_mean_over_the_whole_batch() -> None:
    generator = torch.Generator().manual_seed(1)
    mean, log_variance = torch.randn(8, 3, generator=generator), torch.randn(8, 3, generator=generator)
    whole = maps(mean, log_variance, 0.9)
    other = kl_per_dimension(mean[4:], log_variance[4:])
    torch.testing.assert_close(maps(mean[:4], log_variance[:4], 0.9, Halves(other)), whole)
    assert not torch.isclose(whole, kl_per_dimension(mean, log_variance).sum())


@pytest.mark.parametrize(("free_bits", "warmup"), [(0.4, 0.0), (0.0, 0.5)])
def test_maps_enters_the_objective_with_its_free_bits_and_its_warm_up(free_bits: float, warmup: float) -> None:
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    c = replace(METHOD.high, maps=Maps(free_bits=free_bits, warmup_fraction=warmup))
    key = StepKey(3, 0, torch.arange(B), progress=0.0)
    early = high_terms(model.high, z, a, K, c, key, ALONE)["maps"]
    plain = high(model, z, a, replace(METHOD.high, maps=Maps()))["maps"]
    assert not torch.isclose(early, plain)
    if warmup:
        torch.testing.assert_close(early, plain / 2)
        torch.testing.assert_close(high(model, z, a, c)["maps"], plain)
    else:
        assert early > plain


@pytest.mark.parametrize("level", ["low", "high"])
def test_a_curriculum_grows_with_the_progress_of_the_stage(level: str) -> None:
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    if level == "low":
        z, a = z[:, : 2 + N], a[:, : 2 + N]
    base = METHOD.low if level == "low" else METHOD.high
    paid = []
    for law, progress in (("curriculum", 0.0), ("curriculum", 1.0), ("fixed", 0.0)):
        c = replace(base, rollout=replace(base.rollout, horizon=law))
        key = StepKey(3, 0, torch.arange(B), progress)
        terms = (
            low_terms(model.low, z, a, c, key, ALONE)
            if level == "low"
            else high_terms(model.high, z, a, K, c, key, ALONE)
        )
        paid.append(terms[f"lore_{level}"])
    assert not torch.equal(paid[0], paid[1])
    assert torch.equal(paid[1], paid[2])


@pytest.mark.parametrize("flows", [True, False])
def test_high_targets_receive_gradient_unless_it_is_switched_off(flows: bool) -> None:
    model = zoo_toy.stirred(METHOD)
    z, a = clip()
    c = replace(METHOD.high, rollout=replace(METHOD.high.rollout, target_gradient=flows))
    model.high.P_H.requires_grad_(False)
    high(model, z, a, c)["lore_high"].backward()
    own = [p.grad.clone() for p in model.high.E_H.parameters() if p.grad is not None]
    model.zero_grad()
    detached = replace(c, rollout=replace(c.rollout, target_gradient=False))
    high(model, z, a, detached)["lore_high"].backward()
    through_the_chain = [p.grad for p in model.high.E_H.parameters() if p.grad is not None]
    assert all(torch.equal(x, y) for x, y in zip(own, through_the_chain, strict=True)) == (not flows)


@pytest.mark.parametrize("level", [LowObjective, HighObjective])
def test_a_mode_that_recursive_dynamics_do_not_have_is_refused(level: type) -> None:
    with pytest.raises(RecipeError, match=r"rollout\.mode='direct' is for .* Choose free_running"):
        level(rollout=Rollout(steps=3, mode="direct"))


def test_a_prediction_is_fed_back_with_the_context_that_slid() -> None:
    """On the integrator a drifting model is off by h times its drift after h steps: only self-made contexts add up."""
    z, a = IntegratorWorld().episode(B, 12)
    model = zoo_toy.stirred(METHOD)
    model.low.P_L = IntegratorDynamics(2, 0.5)
    model.low.embed_action = torch.nn.Identity()
    uniform = Rollout(steps=4, profile="uniform", supervision="endpoint")
    paid = {
        mode: float(low(model, z, a, replace(METHOD.low, rollout=replace(uniform, mode=mode)))["lore_low"].detach())
        for mode in ("free_running", "teacher_forced")
    }
    assert paid["free_running"] == pytest.approx(0.25 * sum(h * h for h in (1, 2, 3, 4)) / 4)
    assert paid["teacher_forced"] == pytest.approx(0.25)
