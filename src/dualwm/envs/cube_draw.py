"""Pictures of Cube without a screen: a copy of the model made for drawing, with meshes of few facets.

The visible meshes have 185,000 facets, of which a small picture shows nothing. In the copy the corners of each mesh are
gathered into cells of 12 mm (which also welds them: every facet of the files has corners of its own), and
facets that lose their area are left out. Shadows are not drawn; a pale disc on the table below the gripper shows where
it is and, by its distance in the picture, how high. The target is not drawn.
"""

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dualwm.envs import gl
from dualwm.envs.cube_core import POSITIONS, here
from dualwm.envs.offscreen import Studio, drawing_copy

_CELL = 0.012
"""Metres between what corners of a mesh are gathered to."""
_CAMERA, _GRIPPER, _TARGET = "front_pixels", "ur5e/robotiq/pinch", "target_object_0"
_DISC_RADIUS, _DISC_HEIGHT, _DISC_COLOUR = 0.018, 0.0005, (0.95, 0.9, 0.6, 1.0)


def gathered(
    corners: NDArray[np.float32], facets: NDArray[np.int32], cell: float
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """A mesh of few facets: corners (n, 3) in the same cell become one, and facets (m, 3) without area are left out."""
    which = _numbered(np.floor(corners / cell).astype(np.int64))[1]
    count = np.bincount(which).astype(np.float64)
    middles = np.stack([np.bincount(which, weights=corners[:, axis]) / count for axis in range(3)], axis=1)
    kept = which[facets].astype(np.int32)
    a, b, c = kept.T
    kept = kept[(a != b) & (b != c) & (a != c)]
    first = kept.argmin(axis=1)[:, None]
    alike = np.take_along_axis(kept, (first + np.arange(3)) % 3, axis=1)
    return middles.astype(np.float32), alike[_numbered(alike.astype(np.int64))[0]]


def _numbered(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of whole-numbered rows (n, 3): where each distinct one is first found, and which of them every row is."""
    above = rows - rows.min(axis=0)
    wide = above.max(axis=0) + 1
    _, first, which = np.unique(
        (above[:, 0] * wide[1] + above[:, 1]) * wide[2] + above[:, 2], return_index=True, return_inverse=True
    )
    return first, which


def _normals(corners: NDArray[np.float32], facets: NDArray[np.int32]) -> NDArray[np.float32]:
    """Unit normals at the corners: sums of those of the facets around, weighted by area."""
    a, b, c = (corners[facets[:, k]] for k in range(3))
    across = np.cross(b - a, c - a)
    sums = np.zeros(corners.shape)
    for k in range(3):
        np.add.at(sums, facets[:, k], across)
    return (sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)).astype(np.float32)


def _simplify(model: Any) -> None:
    """Replace every mesh of a model's copy by one of few facets, in the places of the old one's."""
    for mesh in range(model.nmesh):
        corner, facet = int(model.mesh_vertadr[mesh]), int(model.mesh_faceadr[mesh])
        normal = int(model.mesh_normaladr[mesh])
        corners = model.mesh_vert[corner : corner + model.mesh_vertnum[mesh]]
        facets = model.mesh_face[facet : facet + model.mesh_facenum[mesh]]
        few, kept = gathered(corners.copy(), facets.copy(), _CELL)
        if not len(kept) or len(few) > min(model.mesh_vertnum[mesh], model.mesh_normalnum[mesh]):
            continue
        model.mesh_vert[corner : corner + len(few)] = few
        model.mesh_normal[normal : normal + len(few)] = _normals(few, kept)
        model.mesh_face[facet : facet + len(kept)] = kept
        model.mesh_facenormal[facet : facet + len(kept)] = kept
        model.mesh_facenum[mesh] = len(kept)


def _prepared() -> Any:
    """The copy of the model that is drawn."""
    copied = drawing_copy(here().model, hidden=(_TARGET,))
    _simplify(copied)
    return copied


def _disc(data: Any, scene: Any) -> None:
    """The disc below the gripper."""
    mujoco = gl.mujoco()
    x, y, _ = data.site(_GRIPPER).xpos
    mujoco.mjv_initGeom(
        scene.geoms[scene.ngeom],
        mujoco.mjtGeom.mjGEOM_CYLINDER,
        np.array([_DISC_RADIUS, _DISC_RADIUS, _DISC_HEIGHT]),
        np.array([x, y, _DISC_HEIGHT]),
        np.eye(3).ravel(),
        np.array(_DISC_COLOUR, np.float32),
    )
    scene.ngeom += 1


@functools.cache
def _studio() -> Studio:
    prepared = _prepared()  # in the asking thread, which has a simulator
    return Studio(prepared.__copy__, prepared.camera(_CAMERA).id, adorn=_disc)


def draw(states: NDArray[np.float64], size: int) -> NDArray[np.uint8]:
    """Pictures (b, size, size, 3) of the states (b, 41)."""
    return _studio().draw(states[:, :POSITIONS], size)


def on_picture(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where places in space (b, 3) are on the picture, as shares of its width and height, (b, 2)."""
    model = here().model
    camera = model.camera(_CAMERA)
    turned = np.empty(9)
    gl.mujoco().mju_quat2Mat(turned, camera.quat)
    axes = turned.reshape(3, 3)
    away = places - camera.pos
    right, up, back = (away[:, 0] * axes[0, k] + away[:, 1] * axes[1, k] + away[:, 2] * axes[2, k] for k in range(3))
    half = np.tan(np.deg2rad(float(model.cam_fovy[camera.id])) / 2)
    ahead = np.maximum(-back, 1e-6)
    return np.stack([0.5 + right / ahead / half / 2, 0.5 - up / ahead / half / 2], axis=1)
