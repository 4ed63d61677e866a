"""What some tests need that not every machine has; without it they are skipped, saying what to install."""

import functools
from importlib.util import find_spec

import pytest

needs_mujoco = pytest.mark.skipif(
    find_spec("mujoco") is None or find_spec("dm_control") is None,
    reason="needs MuJoCo and Reacher's model file: pip install 'dualwm[mujoco]'",
)

needs_pymunk = pytest.mark.skipif(find_spec("pymunk") is None, reason="needs pymunk: pip install 'dualwm[pusht]'")


@functools.cache
def _why_nothing_is_drawn() -> str:
    from dualwm.envs import gl
    from dualwm.errors import WorldError

    try:
        gl.working()
    except WorldError as problem:
        return str(problem)
    return ""


def require(world: str) -> None:
    """Skip the test where the world cannot run."""
    if world == "pusht" and needs_pymunk.args[0]:
        pytest.skip(needs_pymunk.kwargs["reason"])
    if world == "reacher":
        if needs_mujoco.args[0]:
            pytest.skip(needs_mujoco.kwargs["reason"])
        if why := _why_nothing_is_drawn():
            pytest.skip(why)
