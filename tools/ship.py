"""Put a trained System, or a world's pool of test tasks, into the package.

    tools/ship.py system runs/tworoom-laptop-0     weights, settings and the bank of training frames
    tools/ship.py pool tworoom                     start and goal states of the world's test collection

The pool is a function of the world alone: the command gives the same bytes wherever it is run.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from dualwm.envs.base import get_world
from dualwm.zoo.evaluation import collection_pool
from dualwm.zoo.system import load

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / "src" / "dualwm" / "assets"
LIMIT_BYTES = 8_000_000
SYSTEM_FILES = (
    "model.safetensors",
    "bank.safetensors",
    "config.json",
    "planner.json",
    "task.json",
    "normalizer.json",
    "split.json",
    "provenance.json",
)


def ship_system(run: Path) -> Path:
    """Copy the System's files beside its world's pool; what is too large to ship is refused."""
    system = load(run)
    target = ASSETS / system.task["world"]
    size = sum((run / name).stat().st_size for name in SYSTEM_FILES if (run / name).exists())
    if size > LIMIT_BYTES:
        raise SystemExit(f"{run} holds {size:,} bytes; a world may take at most {LIMIT_BYTES:,} in the package.")
    target.mkdir(parents=True, exist_ok=True)
    for name in SYSTEM_FILES:
        if (run / name).exists():
            shutil.copyfile(run / name, target / name)
    print(f"{target.relative_to(ROOT)}: {size:,} bytes, weights {system.weights_digest[:12]}")
    return target


def ship_pool(name: str) -> Path:
    """Record the test collection in a temporary folder and cut the pool from it."""
    target = ASSETS / name / "pool-test.npz"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        pool = collection_pool(get_world(name), "test", Path(home))
    pool.save(target)
    pairs = {offset: len(pairs) for offset, pairs in pool.pairs.items()}
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size:,} bytes, pairs {json.dumps(pairs)}, {pool.digest[:12]}")
    return target


def main() -> int:
    """One of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("system", "pool"))
    parser.add_argument("what", help="a System folder, or the name of a world")
    args = parser.parse_args()
    ship_system(Path(args.what)) if args.kind == "system" else ship_pool(args.what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
