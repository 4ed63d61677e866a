"""How much memory is taken and how much is left, here and on a GPU."""

import os
import sys

import torch

_UNKNOWN_FREE = 1 << 30
"""Taken to be free where the system does not tell."""


def used_bytes(device: torch.device) -> int:
    """What tensors on a GPU occupy; on the CPU, what this process does."""
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else resident_bytes()


def free_bytes(device: torch.device) -> int:
    """What could still be taken without others having to make room."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        with open("/proc/meminfo") as file:
            kilobytes = next(line.split()[1] for line in file if line.startswith("MemAvailable:"))
        return int(kilobytes) * 1024
    except (OSError, StopIteration, ValueError):
        return _UNKNOWN_FREE


def resident_bytes() -> int:
    """Memory this process occupies now; where the system does not tell, the most it ever occupied."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        if sys.platform == "win32":
            return 0
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
