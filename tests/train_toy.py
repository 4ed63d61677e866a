"""A method small enough to be trained hundreds of times: regression through BatchNorm and dropout, in two stages.

The second stage works on cached latents of the frozen first one, like the high level of the real method. Run as a
program, this file is a server that imports torch once and forks a child per training run, so that a test can kill
real processes without paying for a fresh interpreter each time.
"""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save
from torch import nn

from dualwm.files import write_whole
from dualwm.loss.gaussian import Gaussian
from dualwm.nets.batchnorm import BatchNorm, reestimating, share_statistics
from dualwm.nets.dropout import Dropout
from dualwm.reduce import ALONE, Reduce
from dualwm.train.distributed import Processes, start
from dualwm.train.feed import Order
from dualwm.train.fit import Summary, fit
from dualwm.train.loop import step_key
from dualwm.train.noise import normals
from dualwm.train.optimise import Optimiser, loss_and_terms, only_trained
from dualwm.train.progress import Silent
from dualwm.train.stage import Rehearsal, Source, Stage, StageSettings, StepKey, Watch

SETTINGS = StageSettings(
    steps=24,
    batch_size=16,
    learning_rate=0.02,
    warmup_fraction=0.1,
    heldout_every_steps=10,
    heldout_batches=2,
    log_every_steps=4,
    checkpoint_every_steps=5,
    checkpoint_every_s=1e9,
)


Child = Callable[[dict[str, Any], int], int]
"""(request, rank) -> exit status: what a child of `serve` does."""


class Toy(nn.Module):
    """No bias before BatchNorm: its gradient is rounding noise, which AdamW would blow up to full steps."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng([]):
            torch.manual_seed(5)
            self.body = nn.Sequential(
                nn.Linear(3, 16, bias=False), BatchNorm(16), nn.GELU(), Dropout(0.1), nn.Linear(16, 6)
            )
            self.head = nn.Sequential(nn.Linear(6, 16, bias=False), BatchNorm(16), nn.GELU(), nn.Linear(16, 2))


@dataclass(frozen=True)
class Samples:
    """Points and a smooth function of them, made from their numbers."""

    count: int = 50
    first: int = 0

    def __len__(self) -> int:
        return self.count

    def read(self, indices: np.ndarray) -> dict[str, torch.Tensor]:
        x = torch.from_numpy(normals(1, indices + self.first, (3,))).float()
        return {"x": x, "y": torch.stack([x.sum(1).sin(), x[:, 0] * x[:, 1]], 1)}


@dataclass(frozen=True)
class Cached:
    latents: np.ndarray
    base: Samples

    def __len__(self) -> int:
        return len(self.latents)

    def read(self, indices: np.ndarray) -> dict[str, torch.Tensor]:
        return {"z": torch.from_numpy(self.latents[indices].copy()), "y": self.base.read(indices)["y"]}


@dataclass
class Low:
    """Trains the body: its first two outputs fit y, all of them look Gaussian."""

    settings: StageSettings = SETTINGS
    weights: Mapping[str, float] = field(default_factory=lambda: {"fit": 1.0, "gauss": 0.1})
    reduce: Reduce = ALONE
    name: str = "low"
    samples: Samples = Samples()

    def trained(self, model: Toy) -> list[nn.Module]:
        return [model.body]

    def prepare(self, model: Toy, out: Path) -> None:
        pass

    def sources(self) -> tuple[Samples, Samples]:
        return self.samples, Samples(20, 1000)

    def terms(self, model: Toy, batch: Mapping[str, torch.Tensor], step: StepKey) -> dict[str, torch.Tensor]:
        z = model.body(batch["x"] + 0.1 * step.sample_normal((3,), "input"))
        regulariser = Gaussian(form="quantile", projections=8)
        return {
            "fit": (z[:, :2] - batch["y"]).square().mean(),
            "gauss": regulariser(z[:, None], step.generator("directions"), self.reduce),
        }

    def watch(self, model: Toy, batch: Mapping[str, torch.Tensor], step: StepKey) -> Watch:
        z = model.body(batch["x"])
        error = (z[:, :2] - batch["y"]).square().mean(0)
        return Watch(rollout_error={"low": error}, latents={"low": z}, values={"mean": z.mean()})

    def finish(self, model: Toy, batches: Iterator[tuple[Mapping[str, torch.Tensor], StepKey]]) -> None:
        with reestimating(model.body):
            for batch, _ in islice(batches, 3):
                model.body(batch["x"])

    def rehearsal(self, model: Toy) -> Rehearsal:
        return Rehearsal(source=self.samples)


@dataclass
class StopAt(Low):
    """Sends its own process a signal while the given step is computed."""

    at: int = 13
    number: int = signal.SIGINT

    def terms(self, model: Toy, batch: Mapping[str, torch.Tensor], step: StepKey) -> dict[str, torch.Tensor]:
        if step.step == self.at and torch.is_grad_enabled():
            os.kill(os.getpid(), self.number)
        return super().terms(model, batch, step)


@dataclass
class High:
    """Trains the head on cached latents of the frozen body."""

    settings: StageSettings = SETTINGS
    weights: Mapping[str, float] = field(default_factory=lambda: {"fit": 1.0})
    name: str = "high"
    samples: Samples = Samples()
    cache: list[np.ndarray] = field(default_factory=list)

    def trained(self, model: Toy) -> list[nn.Module]:
        return [model.head]

    @torch.no_grad()
    def prepare(self, model: Toy, out: Path) -> None:
        path = out / "latents.safetensors"
        if not path.exists():
            batch = self.samples.read(np.arange(len(self.samples)))
            write_whole(path, save({"z": model.body(batch["x"]).numpy()}))
        self.cache[:] = [load_file(path)["z"]]

    def sources(self) -> tuple[Cached, Cached]:
        return Cached(self.cache[0], self.samples), Cached(self.cache[0][:20], self.samples)

    def terms(self, model: Toy, batch: Mapping[str, torch.Tensor], step: StepKey) -> dict[str, torch.Tensor]:
        return {"fit": (model.head(batch["z"]) - batch["y"]).square().mean()}

    def watch(self, model: Toy, batch: Mapping[str, torch.Tensor], step: StepKey) -> Watch:
        return Watch(kl_per_dim=torch.tensor([0.5, 0.25]))

    def finish(self, model: Toy, batches: Iterator[tuple[Mapping[str, torch.Tensor], StepKey]]) -> None:
        pass

    def rehearsal(self, model: Toy) -> Rehearsal:
        return Rehearsal(source=Cached(np.zeros((50, 6), np.float32), self.samples), prepare_s=2.0, disk_bytes=1200)


def train(out: Path, **changes: Any) -> tuple[Toy, Summary]:
    """One run of both stages, from the beginning or wherever `out` stands."""
    settings = replace(SETTINGS, **changes.pop("settings", {}))
    seed = changes.pop("seed", 0)
    stages = changes.pop("stages", [Low(settings), High(settings)])
    model = changes.pop("model", None) or Toy()
    summary = fit(model, stages, out, seed=seed, progress=changes.pop("progress", Silent()), **changes)
    return model, summary


def metrics(out: Path, *kinds: str) -> list[dict[str, Any]]:
    """The lines of a run without their timings."""
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    timings = ("windows_per_s", "waiting_share")
    lines = [{key: value for key, value in line.items() if key not in timings} for line in lines]
    return [line for line in lines if not kinds or line["kind"] in kinds]


def gradients(out: Path, processes: Processes) -> None:
    """One step of the toy."""
    stage = Low(reduce=processes)
    one_step(out, processes, stage, Toy(), stage.samples)


def one_step(out: Path, processes: Processes, stage: Stage[Any], model: nn.Module, samples: Source) -> None:
    """Loss, gradients and BatchNorm statistics of one step over the global batch, written by every process."""
    share_statistics(model, processes)
    part = processes.slice(stage.settings.batch_size)
    batch = samples.read(Order(len(samples), stage.settings.batch_size, "order").batch(0)[part])
    trained = stage.trained(model)
    with only_trained(model, trained):
        optimiser = Optimiser(model, trained, stage.settings)
        loss, terms = loss_and_terms(stage, model, batch, step_key(0, stage.name, "train", 3, part))
        result = optimiser.update(loss, terms, 0, processes)
        found = {f"gradient/{name}": p.grad for name, p in optimiser.parameters.items()}
    found |= {f"buffer/{name}": buffer for name, buffer in model.named_buffers()}
    found |= {"loss": result.loss, **{f"term/{name}": term for name, term in result.terms.items()}}
    write_whole(out / f"{processes.rank}.safetensors", save({k: v.detach().numpy() for k, v in found.items()}))


def train_together(out: Path, processes: Processes) -> bool:
    """A whole run. The processes begin apart: the first one's weights must count."""
    model = Toy()
    for parameter in model.parameters():
        parameter.data += processes.rank
    stages = [Low(reduce=processes), High()]
    return train(out, model=model, stages=stages, processes=processes)[1].finished


class Server:
    """The parent's side: each request is one forked training run, or several that share a batch."""

    def __init__(self, program: str = __file__) -> None:
        """`program` calls `serve` with what a child does."""
        self._process = subprocess.Popen(
            [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def train(self, out: Path, kill_after_s: float | None = None, kill_at: str = "", stop_by: int = 0) -> int:
        """Train in a child; its exit status, negative for the signal that killed it, 3 if it stopped politely."""
        (status,) = self._ask({"out": str(out), "kill_after_s": kill_after_s, "kill_at": kill_at, "stop_by": stop_by})
        return status

    def together(self, call: str, out: Path, world: int) -> list[int]:
        """Call a function of this file, or MODULE:FUNCTION, in `world` children that share a batch; their statuses."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        return self._ask({"call": call, "out": str(out), "world": world, "port": port})

    def _ask(self, request: dict[str, Any]) -> list[int]:
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def serve(child: Child) -> None:
    """Answer requests until there are no more, each in forked children."""
    importlib.import_module("torch._dynamo")  # what the first optimiser would import
    torch.set_num_threads(1)
    for line in sys.stdin:
        request = json.loads(line)
        children = [_fork(child, request, rank) for rank in range(request.get("world", 1))]
        if request.get("kill_after_s") is not None:
            time.sleep(request["kill_after_s"])
            os.kill(children[0], signal.SIGKILL)
        print([os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) for number in children], flush=True)


def _fork(child: Child, request: dict[str, Any], rank: int) -> int:
    number = os.fork()
    if number:
        return number
    sys.stdin.close()
    status = 1
    try:
        status = child(request, rank)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _child(request: dict[str, Any], rank: int) -> int:
    out = Path(request["out"])
    if "call" not in request:
        os.environ["DUALWM_KILL_AT"] = request["kill_at"]
        low = StopAt(number=request["stop_by"]) if request["stop_by"] else Low()
        return 0 if train(out, stages=[low, High()])[1].finished else 3
    # What torchrun tells each process it launches.
    os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(request["world"])}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(request["port"]), "GLOO_SOCKET_IFNAME": "lo"}
    with start("cpu") as processes:
        module, _, function = request["call"].rpartition(":")
        getattr(importlib.import_module(module or __name__), function)(out, processes)
    return 0


if __name__ == "__main__":
    serve(_child)
