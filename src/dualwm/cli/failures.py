"""`dualwm failures`: one label for every failed task of a run, by changing one condition at a time."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from tyro.conf import Positional


@dataclass(frozen=True, kw_only=True)
class Args:
    """Why tasks failed: not replayable, mis-predicted, mis-ranked, search-limited, late or lost, unexplained.

    Each question changes one condition and runs the task again; the first that is answered with yes gives the label.
    They are written to failures.jsonl in the run folder, with the figures that gave them.
    """

    run: Positional[Path]
    """Run folder, as `dualwm eval --out` and `dualwm compare` leave it."""
    system: str | None = None
    """Only this system; all that plan by default."""
    offset: int | None = None
    """Only this goal offset, in environment steps; all by default."""
    at_most: int | None = None
    """Label only the first failures of each seed; all by default. Ten times the search takes its time."""
    threads: int | None = None
    """Threads for model calls; torch's own choice by default."""
    json: bool = False
    """Print one JSON object."""


def run(args: Args) -> int:
    """Label, write, and count."""
    import torch

    from dualwm.evaluate.failures import LABELS
    from dualwm.report.markdown import grid
    from dualwm.zoo.failing import count_labels, label_failures

    if args.threads is not None:
        torch.set_num_threads(args.threads)
    found = label_failures(
        args.run,
        system=args.system,
        goal_offset_env_steps=args.offset,
        at_most=args.at_most,
        tell=lambda text: None if args.json else print(text, file=sys.stderr),
    )
    told = count_labels(found)
    if args.json:
        cells = [{"system": name, "goal_offset_env_steps": m, "labels": labels} for (name, m), labels in told.items()]
        print(json.dumps({"failures": len(found), "cells": cells}))
    elif not found:
        print("No task of a system that plans failed.")
    else:
        rows = [[f"{name}, offset {m}", *map(str, labels.values())] for (name, m), labels in told.items()]
        print(grid(["failures", *LABELS], rows))
    return 0
