"""Every exception a user can meet. Import nothing of ours here.

DualWMError
├── RecipeError       a recipe, flag or configuration cannot be used
├── DataError         a data set, episode or window cannot be used
├── SystemFolderError a System folder cannot be read or written
├── ProtocolError     two results may not be compared, or a task set breaks the rules
├── WorldError        a world or one of its libraries cannot be used
└── ControllerError   a controller was called against its contract

A message is one paragraph: what was expected, what came, where it came from, and what to do.
"""

import difflib
import traceback
from collections.abc import Iterable
from pathlib import Path


class DualWMError(Exception):
    """Root of every error raised on purpose at a door of the package."""


class RecipeError(DualWMError):
    """A recipe, a flag or a configuration value cannot be used."""


class DataError(DualWMError):
    """A data set, an episode or a window cannot be used."""


class SystemFolderError(DualWMError):
    """A System folder cannot be read or written."""


class ProtocolError(DualWMError):
    """Results may not be compared, or a task set breaks the evaluation rules."""


class WorldError(DualWMError):
    """A world, or a library it needs, cannot be used."""


class ControllerError(DualWMError):
    """A controller was called against its contract."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known word, or listing all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {near[0]!r}?"
    return "Known: " + ", ".join(names) + "."


def missing_extra(library: str, extra: str, megabytes: int) -> WorldError:
    """The error for an optional library that is not installed, with the line that installs it."""
    return WorldError(
        f"{library} is needed here and is not installed. It belongs to the extra {extra!r} "
        f"(about {megabytes} MB): {line_that_installs(extra)}"
    )


def line_that_installs(extra: str) -> str:
    """What to type for an optional group of libraries: from inside the clone, where the package runs from one."""
    clone = Path(__file__).parents[2] / "pyproject.toml"
    return f"pip install -e '.[{extra}]'" if clone.is_file() else f"pip install 'dualwm[{extra}]'"


def in_one_line(problem: Exception, file: Path | None = None) -> str:
    """An exception in one line, with the last place it passed in `file` (or anywhere, if it did not pass there)."""
    if isinstance(problem, SyntaxError):
        return f"SyntaxError: {problem.msg}, line {problem.lineno}"
    frames = traceback.extract_tb(problem.__traceback__)
    inside = [frame for frame in frames if file is not None and Path(frame.filename) == file]
    place = f", at {Path(frame.filename).name}:{frame.lineno}" if (frame := (inside or frames or [None])[-1]) else ""
    words = str(problem).strip().splitlines()
    return f"{type(problem).__name__}{f': {words[0]}' if words else ''}{place}"
