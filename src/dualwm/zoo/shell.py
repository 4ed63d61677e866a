"""A thin shell for users without a simulator: reset with a goal picture, then one action per frame."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dualwm.errors import ControllerError
from dualwm.evaluate.needs import Controller
from dualwm.records import Goal, Observation

Frame = NDArray[np.uint8] | Mapping[str, NDArray[np.uint8]]


class Planner:
    """Plans towards one goal. It executes each decision's chunk action by action and decides again when it is used up.

    planner = Planner(system.controller(), camera="front")
    planner.reset(goal_picture)
    action = planner.act(frame)
    """

    def __init__(self, controller: Controller, camera: str = "front", seed: int = 0) -> None:
        self._controller, self._camera, self._seed = controller, camera, seed
        self._memory: object | None = None
        self._queue: list[NDArray[np.float32]] = []
        self._executed: list[NDArray[np.float32]] = []

    def reset(self, goal: Frame) -> None:
        """Begin a new episode towards this goal picture."""
        self._memory = self._controller.start(Goal(frames=self._batch(goal)), [0], self._seed)
        self._queue, self._executed = [], []

    def act(self, frame: Frame) -> NDArray[np.float32]:
        """The next environment action, given what is seen now."""
        if self._memory is None:
            raise ControllerError("Planner.act was called before reset. Call reset(goal_picture) first.")
        if not self._queue:
            executed = np.stack(self._executed)[None] if self._executed else None
            observation = Observation(frames=self._batch(frame), executed=executed)
            chunk, self._memory, _ = self._controller.act(self._memory, observation)  # pyright: ignore[reportArgumentType]
            self._queue, self._executed = list(chunk[0]), []
        action = self._queue.pop(0)
        self._executed.append(action)
        return action

    def _batch(self, frame: Frame) -> dict[str, NDArray[np.uint8]]:
        frames = frame if isinstance(frame, Mapping) else {self._camera: frame}
        for name, picture in frames.items():
            if picture.dtype != np.uint8 or picture.ndim != 3 or picture.shape[-1] != 3:
                raise ControllerError(
                    f"Camera {name!r} should give a uint8 picture (height, width, 3) and gave {picture.dtype} "
                    f"{picture.shape}. Convert it before handing it over."
                )
        return {name: picture[None] for name, picture in frames.items()}
