"""Cube's arm, gripper and block and their motion: OGBench's `cube-single`, begun afresh at every environment step.

A UR5e arm with a two-finger gripper stands at a table with one block of 4 cm. An action moves the gripper by up to 5 cm
per axis, turns it about the vertical by up to 0.3 rad and opens or closes it; a solver of inverse kinematics turns that
into joint targets, which motors pull at for 0.05 s, in 25 physics steps of MuJoCo.

A state is the model's positions and velocities, 41 numbers: six arm joints, eight joints of the gripper, place and
orientation (w, x, y, z) of the block, and their rates (20, as an orientation has three). Every environment step begins
from them alone: no forces of earlier steps are remembered by the solver.
"""

import contextlib
import importlib
import os
import threading
from collections.abc import Generator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import gl
from dualwm.errors import WorldError, missing_extra

States = NDArray[np.float64]

POSITIONS, RATES = 21, 20
STATE_WIDTH = POSITIONS + RATES
ARM, GRIPPER, BLOCK, BLOCK_TURN = slice(0, 6), 6, slice(14, 17), slice(17, 21)
"""Where a state holds the arm's angles, the angle that says how far the gripper is closed, and the block's pose."""
ARM_SPEED, GRIPPER_SPEED, BLOCK_SPEED = slice(21, 27), 27, slice(35, 38)
ACTION_WIDTH = 5
GRIPPER_CLOSED = 0.8
"""Radians of the gripper's angle when its fingers meet."""
TABLE_LOW, TABLE_HIGH = np.array([0.3, -0.3]), np.array([0.55, 0.3])
"""Metres: where blocks begin and targets lie."""
REST_HEIGHT = 0.02
"""Of the block's centre when it lies on the table."""

CONTROL_SECONDS, _PHYSICS_STEPS = 0.05, 25
PADS = frozenset(f"ur5e/robotiq/{side}_pad" for side in ("right", "left"))
"""The bodies that hold a block."""

_KNOWN = "1.2"
_SITE = "ur5e/robotiq/pinch"


def _ogbench() -> Any:
    """OGBench's module of the environment, if a version is installed that works."""
    gl.mujoco()
    try:
        found = version("ogbench")
        version("dm_control")
    except PackageNotFoundError as problem:
        raise missing_extra(f"{problem.name or 'ogbench'}, which holds Cube's model,", "mujoco", 270) from None
    if not found.startswith(_KNOWN + "."):
        raise WorldError(
            f"Cube moves as OGBench {_KNOWN} moves it, and {found} is installed. Install the version that is known to "
            "work: pip install 'dualwm[mujoco]'"
        )
    with _no_graphics():
        return importlib.import_module("ogbench.manipspace.envs.cube_env")


@contextlib.contextmanager
def _no_graphics() -> Generator[None]:
    """Importing dm_control, which OGBench builds its model with, looks for a screen unless told not to."""
    kept = os.environ.get(gl.ASKED)
    os.environ[gl.ASKED] = "off"
    try:
        yield
    finally:
        os.environ.pop(gl.ASKED)
        os.environ.update({gl.ASKED: kept} if kept is not None else {})


class Bench:
    """One simulator. It belongs to the thread that makes it; `here()` gives a thread its own."""

    def __init__(self):
        self._mujoco = gl.mujoco()
        self.env = _ogbench().CubeEnv("single", terminate_at_goal=False, mode="data_collection", visualize_info=False)
        self.env.reset(seed=0)
        self.model, self.data = self.env.model, self.env.data
        assert (self.model.nq, self.model.nv, self.model.na) == (POSITIONS, RATES, 0), self.model
        assert self.model.joint("object_joint_0").qposadr[0] == BLOCK.start
        assert self.model.joint("ur5e/robotiq/right_driver_joint").qposadr[0] == GRIPPER
        self._site = self.model.site(_SITE).id
        self._block_geom = self.model.geom("object_0").id

    def load(self, state: States) -> None:
        """Set positions and velocities; everything else is as after a fresh start."""
        data = self.data
        self._mujoco.mj_resetData(self.model, data)
        data.qpos[:], data.qvel[:] = state[:POSITIONS], state[POSITIONS:]
        self._mujoco.mj_forward(self.model, data)

    def read(self) -> States:
        """The state."""
        return np.concatenate([self.data.qpos, self.data.qvel])

    def step(self, state: States, action: States) -> States:
        """The state one environment step later; contact forces stay to be read."""
        self.load(state)
        self.env.set_control(action)
        self._mujoco.mj_step(self.model, self.data, nstep=_PHYSICS_STEPS)
        self._mujoco.mj_rnePostConstraint(self.model, self.data)
        return self.read()

    def set_target(self, pose: States) -> None:
        """Tell the oracles where the block should go, (7,). Loading a state forgets it."""
        self.data.mocap_pos[0], self.data.mocap_quat[0] = pose[:3], pose[3:]

    def start(self, seed: int) -> States:
        """Block and arm anywhere, at rest."""
        self.env.reset(seed=seed)
        return self.read()

    def gripper(self, state: States) -> States:
        """Where the middle between the finger tips is."""
        self.load(state)
        return self.data.site_xpos[self._site].copy()

    def touching(self) -> set[str]:
        """Names of the bodies that touch the block in the state that is loaded."""
        pairs = [contact.geom for contact in self.data.contact if self._block_geom in contact.geom]
        bodies = {int(self.model.geom_bodyid[geom]) for pair in pairs for geom in pair if geom != self._block_geom}
        return {self.model.body(body).name for body in bodies}

    def held(self, state: States) -> bool:
        """Whether any part of arm or gripper touches the block."""
        self.load(state)
        return any(name.startswith("ur5e/") for name in self.touching())


_own = threading.local()


def here() -> Bench:
    """This thread's simulator."""
    if not hasattr(_own, "bench") or _own.process != os.getpid():
        _own.bench, _own.process = Bench(), os.getpid()
    return _own.bench


def step(states: States, actions: States) -> States:
    """The states one environment step later."""
    bench = here()
    return np.array([bench.step(state, action) for state, action in zip(states, actions, strict=True)]).reshape(
        states.shape
    )
