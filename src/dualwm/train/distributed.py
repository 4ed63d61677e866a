"""Several processes that share one global batch, launched by `torchrun` (gloo on CPUs, NCCL on GPUs).

The scaling law. Process r of W holds a slice of the global batch and computes a local loss l_r, a mean over its own
samples, except where it uses statistics of the whole batch. The global loss is

    L = (1/W) * sum_r l_r.

For a plain mean this is the mean over the global batch, because all slices have the same size. A term computed from
global statistics alone has the same value on every process, and so the same value in L. Hence no term needs a factor
of its own: every loss is "a mean over the samples you see", whoever computes it.

Gradients. Call theta_r the copy of a parameter on process r. With y = sum_s x_s made on every process (`sum`), the
gradient of sum_r l_r with respect to x_s is sum_r dl_r/dy_r: **the backward of an all-reduce sum is an all-reduce sum
of the incoming gradients**. `gather` is the same law: x_s is a slice of what everyone received, so its gradient is
that slice of the all-reduced gradients. After `l_r.backward()` process s therefore holds d(sum_r l_r)/dtheta_s, and

    dL/dtheta = (1/W) * sum_s d(sum_r l_r)/dtheta_s,

which is the plain average of what the processes hold (`average`). Nothing else is scaled anywhere.

Every process must call the same collectives in the same order. Their backwards keep that order, because each process
builds the same graph.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast

import torch
import torch.distributed as dist

from dualwm.errors import RecipeError, did_you_mean
from dualwm.shapes import Tensor

_PATIENCE = timedelta(hours=12)
"""How long the others wait while the first process prepares a stage, for example encodes a data set."""


@dataclass(frozen=True)
class Processes:
    """This process among those that share a batch; the `Reduce` of a training run. `Processes()` is one alone."""

    rank: int = 0
    world: int = 1
    device: torch.device = torch.device("cpu")
    """Where this process computes."""

    @property
    def first(self) -> bool:
        """The one process that writes files and speaks to the user."""
        return self.rank == 0

    def sum(self, x: Tensor) -> Tensor:
        """Elementwise sum over processes; differentiable."""
        return x if self.world == 1 else cast(Tensor, _Sum.apply(x))

    def gather(self, x: Tensor, dim: int) -> Tensor:
        """Concatenation over processes along `dim` in rank order; differentiable. All must hold the same shape."""
        return x if self.world == 1 else cast(Tensor, _Gather.apply(x, dim, self.rank, self.world))

    def slice(self, batch_size: int) -> slice:
        """Which part of a global batch belongs to this process."""
        if batch_size % self.world:
            raise RecipeError(
                f"The global batch of {batch_size} samples cannot be shared equally by {self.world} processes. "
                "Choose a batch_size that the number of processes divides, or start another number of processes."
            )
        size = batch_size // self.world
        return slice(self.rank * size, (self.rank + 1) * size)

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace every tensor by its mean over processes, in place and in one message per dtype."""
        if self.world == 1:
            return
        for dtype in dict.fromkeys(t.dtype for t in tensors):
            group = [t for t in tensors if t.dtype == dtype]
            flat = torch.cat([t.reshape(-1) for t in group])
            dist.all_reduce(flat)
            flat /= self.world
            start = 0
            for tensor in group:
                tensor.copy_(flat[start : start + tensor.numel()].view_as(tensor))
                start += tensor.numel()

    @torch.no_grad()
    def share(self, tensors: Sequence[Tensor]) -> None:
        """Overwrite every tensor with the first process's, in place."""
        if self.world > 1:
            for tensor in tensors:
                dist.broadcast(tensor, src=0)

    def any(self, flags: Sequence[bool]) -> tuple[bool, ...]:
        """For each flag, whether any process raised it."""
        if self.world == 1:
            return tuple(flags)
        raised = torch.tensor(flags, dtype=torch.int32, device=self.device)
        dist.all_reduce(raised, op=dist.ReduceOp.MAX)
        return tuple(bool(raised[i]) for i in range(len(flags)))

    def tell(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """The first process's numbers, on every process."""
        told = torch.tensor(numbers, dtype=torch.int64, device=self.device)
        self.share([told])
        return tuple(int(told[i]) for i in range(len(numbers)))

    def barrier(self) -> None:
        """Wait until every process is here."""
        self.any([False])

    @contextmanager
    def first_then_others(self) -> Generator[None, None, None]:
        """The first process runs the body alone; the others run it when it is done."""
        if not self.first:
            self.barrier()
        yield
        if self.first:
            self.barrier()


def speaks() -> bool:
    """Whether this process is the one that speaks to the user; `torchrun` numbers those it launches."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def start(device: str = "auto") -> Generator[Processes, None, None]:
    """This process's place among those `torchrun` launched, or alone; `device` is "auto", "cpu", "cuda", "mps", ..."""
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    chosen = choose_device(device, int(os.environ.get("LOCAL_RANK", "0")))
    if world == 1:
        yield Processes(device=chosen)
        return
    if chosen.type == "cuda":
        torch.cuda.set_device(chosen)
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        yield Processes(rank, world, chosen)
    finally:
        dist.destroy_process_group()


def choose_device(device: str = "auto", local_rank: int = 0) -> torch.device:
    """The device to compute on: "auto" takes this process's own GPU where there is one, else the CPU."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    kind, colon, number = device.partition(":")
    there = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    if kind not in there or (colon and not number.isdigit()):
        raise RecipeError(
            "A device is cpu, cuda, mps, one by its number such as cuda:1, or auto for a GPU where there is one; found "
            f"{device!r}. {did_you_mean(kind, ['auto', *there])}"
        )
    if int(number or 0) >= there[kind]:
        raise RecipeError(
            f"The device {device!r} was asked for, and torch finds {there[kind] or 'none'} of that kind here. "
            "Use 'auto' or 'cpu'; `dualwm doctor` says which build of torch this is."
        )
    return torch.device("cuda", local_rank % there["cuda"]) if device == "cuda" else torch.device(device)


def _all_reduced(x: Tensor) -> Tensor:
    """The sum over processes as a new tensor; half precision is summed in float32."""
    wide = x.float() if x.dtype in (torch.bfloat16, torch.float16) else x
    total = wide.clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total)
    return total.to(x.dtype)


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return _all_reduced(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        del ctx
        return _all_reduced(gradients[0])


class _Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, dim: int, rank: int, world: int) -> Tensor:
        ctx.dim, ctx.start, ctx.length = dim, rank * x.shape[dim], x.shape[dim]
        mine = x.contiguous()
        parts = [torch.empty_like(mine) for _ in range(world)]
        dist.all_gather(parts, mine)
        return torch.cat(parts, dim)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return _all_reduced(gradients[0]).narrow(ctx.dim, ctx.start, ctx.length), None, None, None
