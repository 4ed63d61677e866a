"""A world of one's own in one Python file, which ends in `WORLD = ...`."""

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from dualwm.errors import WorldError, in_one_line

SUFFIX = ".py"
ATTRIBUTE = "WORLD"


def load_world_file(path: str | Path) -> object:
    """What the file calls `WORLD`. The file is executed, as any Python file that is imported."""
    file = Path(path)
    if not file.is_file():
        raise WorldError(
            f"{file} should be a Python file that defines a world, and there is no such file. Check the path; a world "
            "that is installed is named without the ending, such as tworoom."
        )
    module = _module(file)
    if not hasattr(module, ATTRIBUTE):
        raise WorldError(
            f"{file} should name its world in a module variable {ATTRIBUTE}, and has none. End the file with a line "
            f"such as `{ATTRIBUTE} = MyWorld()`."
        )
    return getattr(module, ATTRIBUTE)


def _module(file: Path) -> ModuleType:
    """The executed file, as a module that its classes can be found in; executed once for the same text."""
    text = file.read_bytes()
    name = f"dualwm_world_{hashlib.sha256(str(file.resolve()).encode() + text).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None, file
    assert spec.loader is not None, file
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException as problem:
        del sys.modules[name]
        if not isinstance(problem, Exception):
            raise
        raise WorldError(
            f"{file} should define a world and stopped with an exception when it was executed: "
            f"{in_one_line(problem, file)}. Mend the file; `python {file}` shows the whole traceback."
        ) from problem
    return module
