"""What some tests need that not every machine has; without it they are skipped, saying what to install."""

import functools
import os
from importlib.util import find_spec

import pytest

from tools.browser import missing

needs_mujoco = pytest.mark.skipif(
    find_spec("mujoco") is None or find_spec("dm_control") is None,
    reason="needs MuJoCo and Reacher's model file: pip install 'dualwm[mujoco]'",
)

needs_pymunk = pytest.mark.skipif(find_spec("pymunk") is None, reason="needs pymunk: pip install 'dualwm[pusht]'")

needs_ogbench = pytest.mark.skipif(
    find_spec("mujoco") is None or find_spec("dm_control") is None or find_spec("ogbench") is None,
    reason="needs MuJoCo and OGBench's model of Cube: pip install 'dualwm[mujoco]'",
)


@functools.cache
def _why_nothing_is_drawn() -> str:
    from dualwm.envs import gl
    from dualwm.errors import WorldError

    try:
        gl.working()
    except WorldError as problem:
        return str(problem)
    return ""


_NEEDS = {"cube": needs_ogbench, "pusht": needs_pymunk, "reacher": needs_mujoco}
_DRAWN_BY_MUJOCO = ("cube", "reacher")


def require(world: str) -> None:
    """Skip the test where the world cannot run."""
    if world in _NEEDS and _NEEDS[world].args[0]:
        pytest.skip(_NEEDS[world].kwargs["reason"])
    if world in _DRAWN_BY_MUJOCO and (why := _why_nothing_is_drawn()):
        pytest.skip(why)


def require_browser() -> None:
    """Skip the test where there is no browser; in continuous integration, which installs one, fail instead."""
    if why := missing():
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
