"""`dualwm bench`: how fast this machine plans, trains and reads, beside what else one would use.

The bench itself is no part of the package: it lies in `bench/` of the source tree and installs its peers there. This
verb finds it and runs it with the same Python.
"""

import subprocess
import sys
from dataclasses import dataclass

from tyro.conf import Positional

from dualwm.errors import RecipeError
from dualwm.evaluate.ledger import checkout


@dataclass(frozen=True, kw_only=True)
class Args:
    """How fast this machine plans, trains and reads, beside its peers. It needs the source tree."""

    names: Positional[tuple[str, ...]] = ()
    """Workloads, such as W1 W4; all by default."""
    quick: bool = False
    """Tiny settings, to see that everything works. The numbers mean nothing and are not kept among the results."""
    long: bool = False
    """Also what takes the better part of an hour (W7)."""
    repeats: int | None = None
    """Fresh processes per side."""
    threads: int | None = None
    """Threads of every side; all cores by default."""
    peer: bool = True
    """Whether to install the peers (about 2 GB, below .bench/) and run them too."""
    table: bool = False
    """Run nothing: print the table of what was recorded."""
    json: bool = False
    """Print every recorded line as one JSON list instead of the table."""


def run(args: Args) -> int:
    """Run the bench of this checkout; its exit code."""
    root = checkout()
    if root is None or not (root / "bench" / "run.py").exists():
        raise RecipeError(
            "The bench is part of the source tree (bench/run.py) and this dualwm was not imported from one. Clone the "
            "repository and type `make bench` there."
        )
    flags = [f"--{name}" for name in ("quick", "long", "table", "json") if getattr(args, name)]
    numbers = [f"--{name}={value}" for name in ("repeats", "threads") if (value := getattr(args, name)) is not None]
    words = [*args.names, *flags, *numbers, *([] if args.peer else ["--no-peer"])]
    return subprocess.run([sys.executable, "-m", "bench.run", *words], cwd=root, check=False).returncode
