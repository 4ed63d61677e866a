"""Pictures of MuJoCo models without a screen: drawn twice as large as asked for, then averaged over areas.

The model drawn is a copy made for drawing: no shadows, reflections or multisampling, and round shapes of fewer facets
than anyone can see at these sizes. That makes a picture some twenty times cheaper; the model that moves is another.

A graphics context belongs to the thread that made it. All drawing is therefore done by one thread of this module, on
behalf of whichever thread asks.
"""

import atexit
import functools
import os
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from dualwm.envs import gl
from dualwm.errors import WorldError

_OVERSAMPLING = 2
_SLICES, _STACKS = 16, 8
"""Facets of round shapes."""
_UNDRAWN = ("SHADOW", "REFLECTION", "SKYBOX", "FOG", "HAZE")
_RED_BALL = """<mujoco><worldbody><light pos="0 0 2"/><geom type="sphere" size=".5" rgba="1 0 0 1"/>
<camera pos="0 0 2"/></worldbody></mujoco>"""

Adorn = Callable[[Any, Any], None]
"""(MuJoCo's data, its scene) -> None: adds to the scene what is drawn beside the model."""

_Made = TypeVar("_Made")


def drawing_copy(model: Any, hidden: Sequence[str] = ()) -> Any:
    """A copy of a model for drawing only; the geoms in `hidden` are not seen."""
    copied = model.__copy__()
    quality = copied.vis.quality
    quality.offsamples, quality.numslices, quality.numstacks, quality.numquads = 0, _SLICES, _STACKS, 1
    copied.light_castshadow[:] = 0
    copied.mat_reflectance[:] = 0
    for name in hidden:
        geom = copied.geom(name).id
        copied.geom_rgba[geom, 3] = 0
        if copied.geom_matid[geom] >= 0:
            copied.mat_rgba[copied.geom_matid[geom], 3] = 0
    return copied


class Painter:
    """Draws poses of one model at one size. It belongs to the thread that makes it."""

    def __init__(self, model: Any, size: int, camera: int, context_class: Any, adorn: Adorn | None = None):
        mujoco = self._mujoco = gl.mujoco()
        large = size * _OVERSAMPLING
        self._model, self._size, self._adorn = model, size, adorn
        model.vis.global_.offwidth = model.vis.global_.offheight = large
        self._window = context_class(large, large)
        self._window.make_current()
        self._context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_50)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        if (self._context.offWidth, self._context.offHeight) != (large, large):
            raise WorldError(
                f"The graphics library gives pictures of {self._context.offWidth} x {self._context.offHeight} pixels "
                f"where {large} x {large} are needed to draw {size}. Ask for smaller pictures."
            )
        self._data, self._scene = mujoco.MjData(model), mujoco.MjvScene(model, maxgeom=model.ngeom + 10)
        for flag in _UNDRAWN:
            self._scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{flag}")] = 0
        self._camera = mujoco.MjvCamera()
        self._camera.type, self._camera.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, camera
        self._view = mujoco.MjrRect(0, 0, large, large)
        self._settings = mujoco.MjvOption(), mujoco.MjvPerturb()
        self._pixels = np.empty((large, large, 3), np.uint8)
        mujoco.mj_forward(model, self._data)

    def draw(self, poses: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3) of generalised positions (b, nq)."""
        self._window.make_current()
        frames = np.empty((len(poses), self._size, self._size, 3), np.uint8)
        for frame, pose in zip(frames, poses, strict=True):
            frame[:] = self._one(pose)
        return frames

    def _one(self, pose: NDArray[np.float64]) -> NDArray[np.uint8]:
        mujoco, settings = self._mujoco, self._settings
        self._data.qpos[:] = pose
        mujoco.mj_kinematics(self._model, self._data)
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(self._model, self._data, *settings, self._camera, everything, self._scene)
        if self._adorn is not None:
            self._adorn(self._data, self._scene)
        mujoco.mjr_render(self._view, self._scene, self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._view, self._context)
        large = self._pixels.shape[:2]
        from_below = Image.frombuffer("RGB", large, self._pixels, "raw", "RGB", 0, -1)
        return np.asarray(from_below.reduce(_OVERSAMPLING))

    def close(self) -> None:
        """Give everything back to the graphics library, while its context is still there."""
        self._window.make_current()
        self._context.free()
        self._window.free()


class Studio:
    """Draws one model at any size, by the module's thread. A few sizes are kept ready."""

    def __init__(self, model: Callable[[], Any], camera: int = 0, sizes: int = 4, adorn: Adorn | None = None):
        """`model` gives the copy to be drawn, a fresh one at every call."""
        self._model, self._camera, self._sizes, self._adorn = model, camera, sizes, adorn
        self._painters: dict[int, Painter] = {}

    def draw(self, poses: NDArray[np.float64], size: int) -> NDArray[np.uint8]:
        """Pictures (b, size, size, 3) of generalised positions (b, nq)."""
        gl.working()  # in the asking thread: it may start a process and take seconds
        return _in_the_drawing_thread(functools.partial(self._draw, poses, size))

    def _draw(self, poses: NDArray[np.float64], size: int) -> NDArray[np.uint8]:
        if size not in self._painters:
            if len(self._painters) == self._sizes:
                self._painters.pop(next(iter(self._painters))).close()
            context = gl.context_class(gl.working())
            self._painters[size] = Painter(self._model(), size, self._camera, context, self._adorn)
            _close_at_exit(self)
        return self._painters[size].draw(poses)

    def close(self) -> None:
        """Close the painters; called in the drawing thread."""
        while self._painters:
            self._painters.popitem()[1].close()


_work: "queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]]" = queue.SimpleQueue()


@functools.cache
def _drawing_thread() -> threading.Thread:
    # llvmpipe, which draws where there is no graphics card, would start a thread per core; pictures this small are
    # drawn faster by one, and data collection has a process per core already.
    os.environ.setdefault("LP_NUM_THREADS", "0")
    thread = threading.Thread(target=_draw_on_demand, name="drawing", daemon=True)
    thread.start()
    return thread


def _draw_on_demand() -> None:
    while True:
        future, work = _work.get()
        try:
            future.set_result(work())
        except BaseException as problem:
            future.set_exception(problem)


def _in_the_drawing_thread(work: Callable[[], _Made]) -> _Made:
    _drawing_thread()
    future: Future[_Made] = Future()
    _work.put((future, work))
    return future.result()


@functools.cache
def _close_at_exit(studio: Studio) -> None:
    """Before MuJoCo's own handler, which was registered earlier and takes the display away."""
    atexit.register(lambda: _in_the_drawing_thread(studio.close))


def try_out(name: str) -> None:
    """Draw a red ball by the candidate of that name; whatever is not red is an exception, or worse."""
    model = gl.mujoco().MjModel.from_xml_string(_RED_BALL)
    painter = Painter(drawing_copy(model), 16, 0, gl.context_class(name))
    red, green, _ = painter.draw(np.zeros((1, 0)))[0, 8, 8].astype(int)
    painter.close()
    if red < 50 or red < 2 * green:
        raise WorldError(f"drew a red ball in other colours: ({red}, {green}, ...)")
