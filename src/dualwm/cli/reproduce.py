"""`dualwm reproduce`: is a recorded number what this machine finds too?"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True, kw_only=True)
class Args:
    """Run the recorded numbers of a folder again, task by task, and compare.

    With the same versions on the same kind of machine all tasks must be identical. Elsewhere it says how many differ
    and whether the interval of the difference includes 0; the exit code is 1 where it does not. What is run again is
    nothing new about the system and leaves no line in the ledger.
    """

    result: Positional[Path]
    """Run folder, such as results/tworoom/heldout-100/dual-wm."""
    system: str | None = None
    """Only this system of the folder; all by default."""
    offset: int | None = None
    """Only this goal offset, in environment steps; all by default."""
    num_tasks: int = 20
    """Tasks of each number, the first ones of its seeds; 0 means all."""
    threads: int | None = None
    """Threads for model calls; torch's own choice by default. It never changes a result."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Run again, compare, and say so."""
    import torch

    from dualwm.cli.evaluating import Bar
    from dualwm.zoo.reproducing import changed, reproduce

    if args.threads is not None:
        torch.set_num_threads(args.threads)
    with Bar(quiet=args.json) as bar:
        numbers = reproduce(
            args.result,
            system=args.system,
            goal_offset_env_steps=args.offset,
            num_tasks=args.num_tasks or None,
            on_progress=bar.tell,
        )
    others = changed(args.result)
    if args.json:
        plain = [{**asdict(one), "identical": one.identical, "agrees": one.agrees} for one in numbers]
        print(json.dumps({"numbers": plain, "changed": others}))
    else:
        print("\n".join(one.sentence() for one in numbers))
        print("versions and kind of machine: " + ("; ".join(others) or "the recorded ones"))
    return 0 if all(one.agrees for one in numbers) else 1
