"""A thin shell for users without a simulator: reset with a goal picture, then one action per frame."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ControllerError
from dualwm.evaluate.needs import Controller
from dualwm.records import Goal, Observation

Frame = NDArray[Any] | Mapping[str, NDArray[Any]]
"""A uint8 picture (height, width, 3), or pictures by camera; anything else is refused with what came."""
Numbers = Mapping[str, NDArray[Any]]
"""Proprioceptive numbers (q,) by column, in the data's own units."""


class Planner:
    """Plans towards one goal. It executes each decision's chunk action by action and decides again when it is used up.

    planner = Planner(system.controller())
    planner.reset(goal_picture)
    action = planner.act(picture)
    """

    def __init__(self, controller: Controller, camera: str | None = None, seed: int = 0) -> None:
        """`camera` is the one a bare picture comes from; by default the controller's, where it has a single one."""
        self._controller, self._seed = controller, seed
        self._camera = camera or _only(getattr(controller, "cameras", ()))
        self._memory: Any = None
        self._queue: list[NDArray[np.float32]] = []
        self._executed: list[NDArray[np.float32]] = []

    def reset(self, goal: Frame | Goal, proprio: Numbers | None = None) -> None:
        """Begin a new episode towards this goal: a picture, pictures by camera, or a Goal of one task."""
        if not isinstance(goal, Goal):
            goal = Goal(frames=self._frames(goal), proprio=_rows(proprio))
        self._memory = self._controller.start(goal, [0], self._seed)
        self._queue, self._executed = [], []

    def act(self, frame: Frame, proprio: Numbers | None = None) -> NDArray[np.float32]:
        """The next environment action, given what is seen now."""
        if self._memory is None:
            raise ControllerError("Planner.act was called before reset. Call reset(goal_picture) first.")
        frames = self._frames(frame)
        if not self._queue:
            executed = np.stack(self._executed)[None] if self._executed else None
            observation = Observation(frames=frames, proprio=_rows(proprio), executed=executed)
            chunk, self._memory, _ = self._controller.act(self._memory, observation)
            self._queue, self._executed = list(chunk[0]), []
        action = self._queue.pop(0)
        self._executed.append(action)
        return action

    def _frames(self, frame: Frame) -> dict[str, NDArray[np.uint8]]:
        """Pictures by camera as a batch of one task."""
        if not isinstance(frame, Mapping):
            if self._camera is None:
                raise ControllerError(
                    "This planner does not know which camera a bare picture comes from. Pass pictures by camera, "
                    "{camera: picture}, or name the camera: Planner(controller, camera=...)."
                )
            frame = {self._camera: frame}
        for name, picture in frame.items():
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[-1] != 3:
                raise ControllerError(
                    f"Camera {name!r} should give a uint8 picture (height, width, 3) and gave {picture.dtype} "
                    f"{picture.shape}. Convert it before handing it over."
                )
        return {name: picture[None] for name, picture in frame.items()}


def _only(cameras: Sequence[str]) -> str | None:
    return cameras[0] if len(cameras) == 1 else None


def _rows(proprio: Numbers | None) -> dict[str, NDArray[np.float32]]:
    return {name: np.atleast_1d(np.asarray(x, np.float32))[None] for name, x in (proprio or {}).items()}
