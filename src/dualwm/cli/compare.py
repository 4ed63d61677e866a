"""`dualwm compare`: several systems on the same tasks."""

import json
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dualwm.errors import RecipeError


@dataclass(frozen=True, kw_only=True)
class Args:
    """Several systems on identical tasks, into one run folder.

    Killed, the same command runs what is missing. Several processes or machines may share the work (--shard); the
    finished outcomes.jsonl has the same bytes however it was shared. The floors and ceilings of the world
    always take part.
    """

    systems: tuple[str, ...]
    """FLOOR | NAME | FOLDER, each with [:variant][:key=value...]: tworoom tworoom:low-only runs/a oracle replay."""
    out: Path
    """Run folder for outcomes, task sets, timings and provenance."""
    task: str = "tworoom"
    """World to act in."""
    offsets: tuple[int, ...] = (100,)
    """Goal offsets in environment steps."""
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
    tiers: bool = False
    """Run every system that plans at the paper's four sizes of search, for success against planning time."""
    shard: str = "1/1"
    """i/n: run the i-th of n parts of the tasks; other processes run the others into the same folder."""
    workers: int = 1
    """Processes that share this part."""
    merge: tuple[Path, ...] = ()
    """Folders of the same command, as other machines left them: take their outcomes over before running the rest."""
    timed_tasks: int = 20
    """Tasks of the separate run that measures planning time once all is over; 0 measures nothing."""
    batch_size: int | None = None
    """Tasks planned in one batch; all by default. It never changes a result."""
    threads: int | None = None
    """Threads for the model calls of each process. It never changes a result."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Run, and print tables once nothing is missing."""
    import torch

    from dualwm.cli.evaluating import Board, print_comparison
    from dualwm.evaluate.compare import Share, merge
    from dualwm.evaluate.ledger import default_ledger
    from dualwm.evaluate.outcomes import RunFolder
    from dualwm.recipes.budget_sweep import swept
    from dualwm.report.comparison import compared
    from dualwm.report.tables import read_runs
    from dualwm.zoo.comparing import Comparison, compare

    if args.workers < 1:
        raise RecipeError(f"At least one worker has to do the work, got --workers {args.workers}.")
    comparison = Comparison(
        systems=args.systems,
        task=args.task,
        goal_offsets_env_steps=args.offsets,
        seeds=args.seeds,
        num_tasks=args.num_tasks,
        protocol=args.protocol,
        variant=args.variant,
        rule=args.rule,
    )
    if args.tiers:
        comparison = replace(comparison, systems=swept(comparison.settings(), [str(spec) for spec in comparison.specs]))
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    if args.merge:
        merge(RunFolder.open(args.out, comparison.to_plain()), args.merge)
    with Board(quiet=args.json) as board:
        finished = compare(
            comparison,
            args.out,
            share=Share.parse(args.shard),
            workers=args.workers,
            threads=args.threads,
            batch_size=args.batch_size,
            timed_tasks=args.timed_tasks,
            ledger=default_ledger(),
            command=shlex.join(["dualwm", *sys.argv[1:]]),
            tell=board.tell,
        )
    order = [str(spec) for spec in comparison.specs]
    found = compared(read_runs([args.out]), order) if finished else None
    if args.json:
        plain = [] if found is None else found.to_plain()
        print(json.dumps({"out": str(args.out), "finished": finished, "tables": plain}))
    elif found is None:
        print(f"This part is done; others are not. {args.out} is finished by whoever runs the last task.")
    else:
        print_comparison(found)
    return 0
