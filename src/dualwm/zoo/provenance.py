"""What a number depends on beside its inputs: versions of everything that computes, and the kind of machine."""

import platform
from datetime import UTC, datetime
from typing import Any

import numpy as np
import torch

import dualwm
from dualwm.evaluate.ledger import checkout, commit_of


def versions() -> dict[str, str]:
    """Of the programs that compute."""
    return {
        "dualwm": dualwm.__version__,
        "torch": torch.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def machine() -> dict[str, Any]:
    """The kind of machine, without its name; one kind with one set of versions gives the same bits."""
    return {
        "platform": platform.machine(),
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def session(command: str) -> dict[str, Any]:
    """What a run folder keeps of each process that worked on it."""
    root = checkout()
    return {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "commit": None if root is None else commit_of(root),
        "machine": machine(),
        "versions": versions(),
    }
