"""What the bench ran on: versions, processor, and how fast it multiplies large matrices right now."""

import os
import platform
import time
from collections.abc import Callable, Mapping
from functools import partial
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
    """The limit: GFLOP/s of square products in both precisions, by whichever library is the faster one.

    The best of a few stretches of `seconds` each.
    """
    import torch

    from dualwm.nets.products import Product

    rates: dict[str, Any] = {"seconds": 0.0, "width": width}
    for dtype in (torch.float32, torch.bfloat16):
        a, b = (torch.randn(width, width).to(dtype) for _ in range(2))
        fixed, out = Product(b, None, dtype=dtype, device=b.device), a @ b
        ways = (partial(torch.mm, a, b, out=out), partial(fixed, a))
        name = str(dtype).removeprefix("torch.")
        rates[f"{name}_gflops"] = round(max(_stretch(way, width, seconds) for way in ways for _ in range(3)), 1)
    return rates


def _stretch(product: Callable[[], Any], width: int, seconds: float) -> float:
    done, began = 0, time.perf_counter()
    while done == 0 or time.perf_counter() - began < seconds:
        product()
        done += 1
    return done * 2 * width**3 / (time.perf_counter() - began) / 1e9


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
