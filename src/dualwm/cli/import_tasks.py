"""`dualwm data import-tasks`: a published task set, made runnable with the data set it was cut from."""

import json
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional

from dualwm.errors import ProtocolError


@dataclass(frozen=True, kw_only=True)
class Args:
    """Make a TaskSet of a task definition of the Dual-WM release or of a manifest of CLEAR-LeWM.

    Both name rows of a data set and hold no states, so the data set has to be here: import it first.
    """

    manifest: Positional[Path]
    """Their JSON file."""
    data: Path
    """Folder of the data set it was cut from, as `dualwm data import` makes it: all episodes, in its order."""
    out: Path
    """File to write, for `dualwm eval --tasks`."""
    rule: str | None = None
    """Success rule; by default the world's first."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Read, check, write, and say what came of it."""
    from dualwm.data.store import Store
    from dualwm.envs.base import choose, get_world
    from dualwm.evaluate.manifests import read_manifest, tasks_of
    from dualwm.evaluate.tasks import difficulty, save_taskset

    manifest, store = read_manifest(args.manifest), Store.open(args.data)
    world = get_world(manifest.world)
    if store.meta.world not in ("", world.name):
        raise ProtocolError(f"{args.manifest} is about {world.name}, and {args.data} holds {store.meta.world}.")
    rule = None if args.rule is None else choose("success rule", args.rule, world.rules, world.name)
    taskset = tasks_of(manifest, store, world, rule)
    save_taskset(taskset, args.out)
    said, solved = manifest.initially_solved, difficulty(taskset.tasks).initially_solved
    facts = {
        "out": str(args.out),
        "digest": taskset.digest,
        "protocol": taskset.protocol,
        "tasks": len(taskset.tasks),
        "initially_solved": solved,
        "initially_solved_as_published": None if said is None else sum(said) / len(said),
    }
    if args.json:
        print(json.dumps(facts))
        return 0
    published = "" if said is None else f" ({100 * sum(said) / len(said):.1f} % by the publisher's rule)"
    print(
        f"{args.out}: {len(taskset.tasks)} tasks of {world.name} at offset {taskset.goal_offset_env_steps}, protocol "
        f"{taskset.protocol}, rule {taskset.rule}; solved at the start: {100 * solved:.1f} %"
        f"{published}; TaskSet {taskset.digest[:12]}\nNext: dualwm eval SYSTEM --tasks {args.out}"
    )
    return 0
