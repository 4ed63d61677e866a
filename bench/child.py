"""Runs one side in this fresh process and prints its result as the last line. Also read by the peers' Python.

python -m bench.child '{"call": "bench.w1_paper:ours", "args": {...}, "threads": 2}'
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

MARK = "bench result: "


def main() -> int:
    """Call the function, add the peak of memory and how far the call raised it, print."""
    task = json.loads(sys.argv[1])
    _use_threads(int(task["threads"]))
    module, _, name = str(task["call"]).partition(":")
    function, before = getattr(importlib.import_module(module), name), _peak_mb()
    result = dict(function(**task["args"]))
    result |= {"peak_mb": round(_peak_mb(), 1), "grown_mb": round(_peak_mb() - before, 1)}
    print(MARK + json.dumps(result), flush=True)
    return 0


def median_seconds(work: Callable[[], Any], times: int, warm: int = 1) -> float:
    """Median seconds of `work`, called `times` times after `warm` calls that do not count."""
    for _ in range(warm):
        work()
    spent: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        spent.append(time.perf_counter() - began)
    return sorted(spent)[len(spent) // 2]


def _use_threads(count: int) -> None:
    os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = str(count)
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(count)


def _peak_mb() -> float:
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak / 1e3


if __name__ == "__main__":
    sys.exit(main())
