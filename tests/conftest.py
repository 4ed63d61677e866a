"""Programs that a test starts run this tree's package, whatever is installed."""

import os
from pathlib import Path

_SRC = str(Path(__file__).resolve().parents[1] / "src")
_FOUND = os.environ.get("PYTHONPATH", "").split(os.pathsep)
os.environ["PYTHONPATH"] = os.pathsep.join([_SRC, *(path for path in _FOUND if path and path != _SRC)])
