"""A program for tests to kill: compare two toy systems into a folder, resting a little at every decision."""

import sys
import time
from pathlib import Path

from evaluate_slowly import DISTANCES
from evaluate_toy import WORLD, Homing, entrant, line_tasks

from dualwm.evaluate.compare import Cell, Share, run_share
from dualwm.evaluate.outcomes import RunFolder

SETS = (line_tasks(DISTANCES, seed=0), line_tasks(DISTANCES, seed=1000), line_tasks(DISTANCES, seed=1001))
COMMAND = {"systems": ["homing", "random"], "num_tasks": 17}


def cells(rest_seconds: float = 0.0) -> list[Cell]:
    controller = Homing(chunk=3, wobble=0.3, on_act=lambda: time.sleep(rest_seconds))
    return [
        Cell(entrant=entrant(system="random"), tasksets=SETS),
        Cell(entrant=entrant(controller, "homing"), tasksets=SETS),
    ]


CELLS = cells()


def compare_slowly(out: Path, rest_seconds: float = 0.0, share: Share | None = None) -> bool:
    share = share or Share()
    folder = RunFolder.open(out, COMMAND, share.writer)
    return run_share(WORLD, cells(rest_seconds), folder, share, variant="plain", batch_size=3)


if __name__ == "__main__":
    compare_slowly(Path(sys.argv[1]), float(sys.argv[3]), Share.parse(sys.argv[2]))
