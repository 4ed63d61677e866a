"""Reacher's arm and its motion: two links in a plane, torques at shoulder and wrist.

The arm is the model file of dm_control's Reacher, simulated by MuJoCo: 0.02 s to a physics step, two of them to an
environment step. The shoulder turns freely and its angle is never wrapped; the wrist stops at 160 degrees.

A state is six numbers: both joint angles, both joint velocities, and the angles half an environment step ago, because
success is tested after each of the two physics steps. The first four are all that matters to the motion: every
environment step begins from them alone (no forces of earlier steps are remembered by the solver).
"""

import functools
import importlib
import threading
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import gl
from dualwm.errors import WorldError, missing_extra

States = NDArray[np.float64]

STATE_WIDTH = 6
ANGLES, MOTION, HALFWAY = slice(0, 2), slice(0, 4), slice(4, 6)
"""Where a state holds the joint angles, all that matters to the motion, and the angles after the first physics step."""
PHYSICS_STEPS = 2
"""Per environment step."""
WRIST_LIMIT = np.deg2rad(160.0)
UPPER, LOWER = 0.12, 0.12
"""Metres from shoulder to wrist, and from wrist to finger tip."""

_INCLUDED = ("skybox", "visual", "materials")
_FIRST = 1
"""Of MuJoCo's state vector: time comes before the angles."""


@functools.cache
def model() -> Any:
    """The compiled model."""
    mujoco = gl.mujoco()
    try:
        found = version("dm_control")
    except PackageNotFoundError:
        raise missing_extra("dm_control, which holds Reacher's model file,", "mujoco", 270) from None
    suite = resources.files("dm_control") / "suite"
    try:
        text = (suite / "reacher.xml").read_text()
        parts = {f"./common/{name}.xml": (suite / "common" / f"{name}.xml").read_bytes() for name in _INCLUDED}
        compiled = mujoco.MjModel.from_xml_string(text, parts)
    except (OSError, ValueError) as problem:
        raise WorldError(
            f"Reacher's model file is read from dm_control 1.0.50; {found} is installed and has none that can be used "
            f"({problem}). Install the version that is known to work: pip install 'dualwm[mujoco]'"
        ) from problem
    assert (compiled.nq, compiled.nv, compiled.nu, compiled.na) == (2, 2, 2, 0), compiled
    return compiled


_own = threading.local()
"""Each thread's scratch memory of the simulator."""


def roll(states: States, controls: NDArray[np.float64]) -> States:
    """States (b, t, 6) after each environment step with controls (b, t, 2) from the states (b, 6)."""
    mujoco = gl.mujoco()
    if not hasattr(_own, "data"):
        _own.data = mujoco.MjData(model())
        _own.rollout = importlib.import_module("mujoco.rollout").Rollout(nthread=0)
    width = mujoco.mj_stateSize(model(), mujoco.mjtState.mjSTATE_FULLPHYSICS)
    initial = np.zeros((len(states), width))
    initial[:, _FIRST : _FIRST + 4] = states[:, MOTION]
    b, t, _ = controls.shape
    if b == 0 or t == 0:
        return np.empty((b, t, STATE_WIDTH))
    led: States
    led, _ = _own.rollout.rollout(model(), _own.data, initial, np.repeat(controls, PHYSICS_STEPS, axis=1))
    halves = led[:, :, _FIRST : _FIRST + 4].reshape(b, t, PHYSICS_STEPS, 4)
    return np.concatenate([halves[:, :, 1], halves[:, :, 0, :2]], axis=2)


def step(states: States, actions: States) -> States:
    """The states one environment step later."""
    return roll(states, actions[:, None])[:, 0]


def finger(angles: States) -> States:
    """Where the finger tip is, (b, 2) in metres from the shoulder."""
    shoulder, wrist = angles[:, 0], angles[:, 0] + angles[:, 1]
    return np.stack(
        [UPPER * np.cos(shoulder) + LOWER * np.cos(wrist), UPPER * np.sin(shoulder) + LOWER * np.sin(wrist)], axis=1
    )
