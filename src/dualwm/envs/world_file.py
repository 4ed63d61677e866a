"""A world of one's own in one Python file, which ends in `WORLD = ...`."""

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType

from dualwm.errors import WorldError

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
            f"{said(problem, file)}. Mend the file; `python {file}` shows the whole traceback."
        ) from problem
    return module


def said(problem: Exception, file: Path | None = None) -> str:
    """An exception in one line, with the last place it passed in `file` (or anywhere, if it did not pass there)."""
    if isinstance(problem, SyntaxError):
        return f"SyntaxError: {problem.msg}, line {problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    inside = [frame for frame in frames if file is not None and Path(frame.filename) == file]
    place = f", at {Path(frame.filename).name}:{frame.lineno}" if (frame := (inside or frames or [None])[-1]) else ""
    words = str(problem).strip().splitlines()
    return f"{type(problem).__name__}{f': {words[0]}' if words else ''}{place}"
