"""`dualwm data check-world`: whether a world keeps its promises, in words."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True, kw_only=True)
class Args:
    """Ask a world every law it should obey. The exit code is 1 if it breaks one."""

    world: Positional[str]
    """Name of a world, or a Python file that ends in `WORLD = ...`."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Print every law and what it found; 1 if it found anything."""
    from dualwm.envs.base import get_world
    from dualwm.envs.conform import Verdict, check_world
    from dualwm.envs.world_file import SUFFIX, load_world_file

    # A file is not asked to be complete here: what it lacks is what this verb is to say.
    world = load_world_file(args.world) if args.world.endswith(SUFFIX) else get_world(args.world)
    verdicts = check_world(world)
    ok = all(verdict.ok for verdict in verdicts)
    if args.json:
        print(json.dumps({"world": args.world, "ok": ok, "laws": [asdict(verdict) for verdict in verdicts]}))
        return 0 if ok else 1

    def line(verdict: Verdict) -> str:
        return "\n".join(
            [f"{'ok  ' if verdict.ok else 'BAD '}{verdict.law}", *(f"      {c}" for c in verdict.complaints)]
        )

    print("\n".join(map(line, verdicts)))
    broken = sum(not verdict.ok for verdict in verdicts)
    print(f"{broken} of {len(verdicts)} laws are broken." if broken else _next(args.world))
    return 0 if ok else 1


def _next(world: str) -> str:
    return f"All laws hold. Next: dualwm data collect {world} --episodes 100 --out data/{Path(world).stem}"
