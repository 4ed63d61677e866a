"""A program for tests to kill: evaluate the toy world into a folder, resting a little at every decision."""

import sys
import time
from pathlib import Path

from evaluate_toy import WORLD, Homing, entrant, line_tasks

from dualwm.evaluate.cell import evaluate_cell
from dualwm.evaluate.outcomes import RunFolder

DISTANCES = [3, 0.2, 12, 60, 7, 1, 25, 49, 51, 5, 18, 33, 2, 80, 9, 44, 6]
TASKSETS = [line_tasks(DISTANCES, seed=seed) for seed in (1000, 1001)]


def evaluate_slowly(out: Path, rest_seconds: float, batch_size: int | None = None, **options) -> None:
    controller = Homing(chunk=3, wobble=0.3, on_act=lambda: time.sleep(rest_seconds))
    folder = RunFolder.open(out, {"system": "toy", "seeds": [1000, 1001]})
    evaluate_cell(
        WORLD, entrant(controller), TASKSETS, variant="plain", folder=folder, batch_size=batch_size, **options
    )


if __name__ == "__main__":
    evaluate_slowly(Path(sys.argv[1]), float(sys.argv[2]))
