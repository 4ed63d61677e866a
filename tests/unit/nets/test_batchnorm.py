"""BatchNorm over the global batch: torch's own on one process, the same over several, plain averages at the end."""

import copy

import torch
from fake_processes import TwoProcesses
from torch import nn

from dualwm.nets.batchnorm import BatchNorm, batchnorms, reestimating, share_statistics
from dualwm.nets.heads import Projector


def rows(count: int, seed: int) -> torch.Tensor:
    return 3 + 2 * torch.randn(count, 5, generator=torch.Generator().manual_seed(seed))


def twins() -> tuple[BatchNorm, nn.BatchNorm1d]:
    ours, torchs = BatchNorm(5), nn.BatchNorm1d(5)
    with torch.no_grad():
        for norm in (ours, torchs):
            norm.weight.copy_(torch.linspace(0.5, 2.0, 5))
            norm.bias.copy_(torch.linspace(-1.0, 1.0, 5))
    return ours, torchs


def test_it_is_torchs_batchnorm_in_training_and_in_evaluation():
    ours, torchs = twins()
    for step in range(4):
        x = rows(7, step)
        torch.testing.assert_close(ours(x), torchs(x))
        torch.testing.assert_close(ours.running_mean, torchs.running_mean)
        torch.testing.assert_close(ours.running_var, torchs.running_var)
    ours.eval()
    torchs.eval()
    x = rows(7, 9)
    torch.testing.assert_close(ours(x), torchs(x))


def test_gradients_are_torchs():
    ours, torchs = twins()
    grads = []
    for norm in (ours, torchs):
        x = rows(7, 0).requires_grad_()
        (norm(x) * rows(7, 1)).sum().backward()
        grads.append((x.grad, norm.weight.grad, norm.bias.grad))
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-5)


def test_evaluation_leaves_the_buffers_untouched():
    norm, _ = twins()
    norm(rows(7, 0))
    before = copy.deepcopy(norm.state_dict())
    norm.eval()
    norm(rows(7, 1))
    assert all(torch.equal(before[name], value) for name, value in norm.state_dict().items())


def test_two_processes_with_half_batches_are_one_with_the_whole():
    whole, _ = twins()
    x = rows(8, 0)
    expected = whole(x)

    def half(rank: int, reduce: object) -> tuple[torch.Tensor, BatchNorm]:
        norm, _ = twins()
        share_statistics(norm, reduce)  # pyright: ignore[reportArgumentType]
        return norm(x[4 * rank : 4 * rank + 4]), norm

    (first, norm), (second, other) = TwoProcesses().run(half)
    torch.testing.assert_close(torch.cat([first, second]), expected)
    for mine in (norm, other):
        torch.testing.assert_close(mine.running_mean, whole.running_mean)
        torch.testing.assert_close(mine.running_var, whole.running_var)


def test_reestimating_replaces_trailing_averages_by_plain_ones():
    norm, _ = twins()
    for step in range(3):
        norm(rows(6, step) + 100.0)  # an encoder that has since moved
    norm.eval()
    batches = [rows(6, 10 + step) for step in range(5)]
    with reestimating(norm):
        outputs = [norm(x) for x in batches]
    torch.testing.assert_close(norm.running_mean, torch.cat(batches).mean(0))
    torch.testing.assert_close(norm.running_var, torch.stack([x.var(0) for x in batches]).mean(0))
    assert not any(out.requires_grad for out in outputs)
    after = norm.running_mean.clone()
    norm(batches[0])
    assert torch.equal(norm.running_mean, after), "outside the context evaluation leaves the buffers alone"


def test_larger_batches_weigh_more_when_reestimating():
    norm, _ = twins()
    batches = [rows(2, 0), rows(10, 1)]
    with reestimating(norm):
        for x in batches:
            norm(x)
    torch.testing.assert_close(norm.running_mean, torch.cat(batches).mean(0))


def test_reestimating_twice_starts_anew():
    norm, _ = twins()
    for seed in (0, 1):
        with reestimating(norm):
            norm(rows(6, seed))
    torch.testing.assert_close(norm.running_mean, rows(6, 1).mean(0))


def test_a_projector_has_one_batchnorm_over_all_leading_axes():
    torch.manual_seed(0)
    head = Projector(4, 8, 3)
    assert len(batchnorms(head)) == 1
    x = torch.randn(2, 5, 4)
    torch.testing.assert_close(head(x), head(x.flatten(0, 1)).view(2, 5, 3))
