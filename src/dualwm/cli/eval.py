"""`dualwm eval`: success of one system on matched tasks."""

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tyro.conf import Positional

from dualwm.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Args:
    """Success of a system on matched tasks, with interval and floors. Killed, the same command runs what is missing."""

    system: Positional[str]
    """FLOOR | NAME | FOLDER, each with [:variant][:key=value...]: random, tworoom:low-only, runs/a:search=192/30/20."""
    task: str = "tworoom"
    """World to act in."""
    offset: int = 100
    """Goal offset in environment steps."""
    seeds: tuple[int, ...] = (0, 1, 42)
    """Evaluation seeds; each draws its own tasks. Seeds of 1000 and above use the dev collection."""
    num_tasks: int = 200
    """Tasks per seed."""
    protocol: Literal["heldout", "paper"] = "heldout"
    """heldout: starts not already solved, an episode at most once. paper: the sampling rule of the authors' release."""
    variant: str = ""
    """Dynamics variant of the world; empty means its first."""
    rule: str | None = None
    """Success rule; by default the world's first."""
    tasks: tuple[Path, ...] = ()
    """TaskSets from files, such as `dualwm data import-tasks` writes, in place of --task, --offset, --seeds,
    --num-tasks, --protocol and --rule."""
    out: Path | None = None
    """Run folder for outcomes, task sets and timings; by default nothing is kept."""
    batch_size: int | None = None
    """Tasks planned in one batch; all by default. It never changes a result."""
    threads: int | None = None
    """Threads for model calls; torch's own choice by default. It never changes a result."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Evaluate and print."""
    import torch

    from dualwm.cli.evaluating import Bar, print_summary
    from dualwm.evaluate.tasks import load_taskset
    from dualwm.zoo.evaluation import evaluate

    for name, count in (("threads", args.threads), ("batch-size", args.batch_size)):
        if count is not None and count < 1:
            raise RecipeError(f"--{name} must be at least 1, found {count}.")
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    with Bar(quiet=args.json) as bar:
        summary = evaluate(
            args.system,
            args.task,
            goal_offset_env_steps=args.offset,
            seeds=args.seeds,
            num_tasks=args.num_tasks,
            protocol=args.protocol,
            variant=args.variant or None,
            rule=args.rule,
            out=args.out,
            batch_size=args.batch_size,
            command=shlex.join(["dualwm", *sys.argv[1:]]),
            on_progress=bar.tell,
            given=[load_taskset(file) for file in args.tasks],
        )
    if args.json:
        print(json.dumps(summary.to_plain()))
    else:
        print_summary(args.system, summary)
    return 0
