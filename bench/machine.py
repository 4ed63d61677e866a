"""What the bench ran on: versions, processor, and how fast it multiplies large matrices right now."""

import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any


def facts(threads: int) -> Mapping[str, Any]:
    """Versions and machine, without names of hosts or people."""
    import numpy as np
    import torch

    import dualwm

    return {
        "versions": {
            "dualwm": dualwm.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "processor": _processor(),
        "machine": platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "threads": threads,
        "memory_gb": _memory_gb(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
    }


def peer_versions() -> Mapping[str, Any]:
    """Versions of what the peers' Python compares with; called there."""
    names = ("stable-worldmodel", "torch", "transformers", "h5py", "hdf5plugin", "zarr", "pylance", "av", "gymnasium")
    return {"seconds": 0.0, "versions": {name: version(name) for name in names} | {"python": platform.python_version()}}


def matrix_rate(seconds: float = 0.4, width: int = 2048) -> Mapping[str, Any]:
    """The limit: GFLOP/s of square products in both precisions, the best of a few stretches of `seconds` each."""
    import torch

    rates: dict[str, Any] = {"seconds": 0.0, "width": width}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = (torch.randn(width, width).to(dtype) for _ in range(2))
        out = a @ b
        name = str(dtype).removeprefix("torch.")
        rates[f"{name}_gflops"] = round(max(_stretch(a, b, out, seconds) for _ in range(3)), 1)
    return rates


def _stretch(a: Any, b: Any, out: Any, seconds: float) -> float:
    import torch

    done, began = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - began < seconds:
        torch.mm(a, b, out=out)
        done += 1
    return done * 2 * len(a) ** 3 / (time.perf_counter() - began) / 1e9


def _processor() -> str:
    for line in _lines(Path("/proc/cpuinfo")):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _memory_gb() -> float | None:
    for line in _lines(Path("/proc/meminfo")):
        if line.startswith("MemTotal"):
            return round(int(line.split()[1]) / 1e6, 1)
    return None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
