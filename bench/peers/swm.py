"""stable-worldmodel, imported so that it works beside a CPU build of torch.

The registry's torchvision is built for GPUs. Without their libraries its compiled part does not load, and importing it
fails on two operators nobody here calls; declaring them is enough.
"""

from importlib.util import find_spec
from pathlib import Path

import torch


def _declare_missing_operators() -> None:
    spec = find_spec("torchvision")
    assert spec is not None
    assert spec.origin is not None
    try:
        for library in Path(spec.origin).parent.glob("_C*.so"):
            torch.ops.load_library(str(library))
    except OSError:
        for name in ("nms", "qnms"):
            _KEPT.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


_KEPT = torch.library.Library("torchvision", "FRAGMENT")  # its declarations go when it does
_declare_missing_operators()

import stable_worldmodel as swm  # noqa: E402
from stable_worldmodel.wm.lewm import module as lewm_modules  # noqa: E402

__all__ = ["lewm_modules", "swm"]
