"""Which OpenGL can draw without a screen here: found by trying, each candidate in a process of its own.

A broken graphics library raises, hangs or takes its process with it. So a candidate counts only if another process has
drawn a red ball with it and seen red. What was found is remembered in the environment variable `DUALWM_GL`, which the
processes we start inherit; set it yourself to skip the search.
"""

import ctypes
import functools
import importlib
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dualwm.errors import WorldError, missing_extra

CHOSEN = "DUALWM_GL"
ASKED = "MUJOCO_GL"
"""MuJoCo's own variable; if it names a candidate, only that one is tried."""

CANDIDATES = {"linux": ("egl", "osmesa"), "darwin": ("cgl",), "win32": ("glfw",)}
_LIBRARIES = {
    "egl": {"libEGL.so.1": "libegl1", "libEGL_mesa.so.0": "libegl-mesa0", "libOpenGL.so.0": "libopengl0"},
    "osmesa": {"libOSMesa.so.8": "libosmesa6"},
}
"""What each candidate loads, and the Debian package that has it."""
_DRIVER = "libgl1-mesa-dri"
"""The package that draws where there is no graphics card; nothing can be loaded to see whether it is there."""
_SECONDS = 120
_OLDEST, _TOO_NEW = (3, 17), (4, 0)


@functools.cache
def mujoco() -> Any:
    """The library, if a version is installed that works."""
    try:
        found = version("mujoco")
    except PackageNotFoundError:
        raise missing_extra("mujoco", "mujoco", 270) from None
    if not _OLDEST <= tuple(int(part) for part in found.split(".")[:2]) < _TOO_NEW:
        raise WorldError(
            f"mujoco from {'.'.join(map(str, _OLDEST))} to below {_TOO_NEW[0]} is needed here, and {found} is "
            "installed. Its versions share a folder, so first remove what is there: "
            "pip uninstall -y mujoco mujoco-core mujoco-studio && pip install 'dualwm[mujoco]'"
        )
    # Importing mujoco imports the graphics library that this variable names; a name that is none is an error.
    if os.environ.get(ASKED) is None and os.environ.get(CHOSEN) is not None:
        os.environ[ASKED] = os.environ[CHOSEN]
    try:
        return importlib.import_module("mujoco")
    except Exception as problem:  # graphics bindings fail in every way there is
        raise WorldError(
            f"mujoco {found} is installed and cannot be imported ({problem}). If the environment variable {ASKED} is "
            f"set (now {os.environ.get(ASKED)!r}), unset it: a working one is found by trying."
        ) from problem


def context_class(name: str) -> Any:
    """MuJoCo's class of contexts that draw by the candidate of that name."""
    mujoco()
    return importlib.import_module(f"mujoco.{name}").GLContext


@functools.cache
def working() -> str:
    """The first candidate that draws, or an error that says what is missing and the line that installs it."""
    if os.environ.get(CHOSEN):
        return os.environ[CHOSEN]
    mujoco()
    candidates = CANDIDATES.get(sys.platform, ())
    asked = os.environ.get(ASKED, "")
    tried = {name: _problem_of(name) for name in ((asked,) if asked in candidates else candidates)}
    for name, problem in tried.items():
        if problem is None:
            os.environ[CHOSEN] = name
            return name
    raise WorldError(
        "Pictures of this world are drawn by MuJoCo, which needs an OpenGL that works without a screen, and none does "
        f"here: {'; '.join(f'{name}: {problem}' for name, problem in tried.items()) or 'none is known for this system'}"
        ". " + _remedy(tuple(tried), asked)
    )


def _problem_of(name: str) -> str | None:
    """The last thing the trying process said; None if it has drawn."""
    environment = {**os.environ, ASKED: name, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    environment.pop("PYOPENGL_PLATFORM", None)
    command = [sys.executable, "-c", f"from dualwm.envs.offscreen import try_out; try_out({name!r})"]
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return f"gave no picture within {_SECONDS} s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip() and line[0] != " "]
    return lines[-1].strip() if lines else f"ended with exit code {done.returncode}"


def _remedy(tried: tuple[str, ...], asked: str) -> str:
    if asked in tried and sys.platform == "linux":
        return f"Only {asked} was tried because {ASKED} names it: unset {ASKED} to try all of {CANDIDATES['linux']}."
    if not sys.platform.startswith("linux"):
        return "Run where a screen is attached, or on Linux, where drawing needs none."
    packages = [package for library, package in _LIBRARIES["egl"].items() if not _loads(library)]
    return (
        f"On Debian or Ubuntu: apt-get install -y {' '.join([*packages, _DRIVER])}  (on Fedora: dnf install -y "
        "mesa-libEGL mesa-dri-drivers libglvnd-opengl). `dualwm doctor` tries again."
    )


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
