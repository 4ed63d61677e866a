"""Episodes become windows. The frame skip is applied here and nowhere else: environment rows in, low steps out.

A window of `low_steps` frames at frame skip f, starting at row r of an episode:

    frame i    the observation at row r + i f
    block i    the environment actions of rows r + i f ... r + i f + f - 1, in this order; leads from frame i to i + 1

The last block leads out of the window. Where nothing reads it (`last_action_unused`), a window needs no rows for it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.data.store import Draw, Store
from dualwm.errors import DataError
from dualwm.records import ColumnSpec
from dualwm.shapes import Tensor


def needed_rows(frame_skip: int, low_steps: int, last_action_unused: bool = True) -> int:
    """Environment rows one window spans."""
    assert frame_skip >= 1, frame_skip
    assert low_steps >= 1, low_steps
    return (low_steps - 1) * frame_skip + 1 if last_action_unused else low_steps * frame_skip


def window_counts(rows: NDArray[np.int64], needed: int, stride: int = 1) -> NDArray[np.int64]:
    """How many windows of `needed` rows start in episodes of these lengths, a start every `stride` rows."""
    return np.maximum((rows - needed) // stride + 1, 0)


class Windows:
    """Every (episode, start row) with enough rows, by number: a `Source` for training.

    Samples are numbered episode by episode in the order given, start rows ascending. Memory is proportional to the
    number of episodes, whatever the number of windows. Reading is a pure function of the indices, and thread-safe.
    """

    def __init__(
        self,
        store: Store,
        episodes: Sequence[int] | NDArray[np.int64],
        *,
        frame_skip: int,
        low_steps: int,
        cameras: Sequence[str] = (),
        size: int | None = None,
        draw: Draw | Mapping[str, Draw] | None = None,
        proprio: Sequence[str] = (),
        last_action_unused: bool = True,
        stride: int = 1,
    ) -> None:
        """`size` and `draw` (one function, or one per camera) are for drawn cameras; stored ones come as stored."""
        assert stride >= 1, stride
        self.store = store
        self.frame_skip, self.low_steps, self.stride = frame_skip, low_steps, stride
        self.cameras, self.proprio = tuple(cameras), tuple(proprio)
        self._size = size
        self._draw = {camera: draw if draw is None or callable(draw) else draw.get(camera) for camera in cameras}
        self._action = store.action()
        for camera in self.cameras:
            _check_camera(store, camera, size, self._draw[camera])
        for name in self.proprio:
            _check_proprio(store, store.column(name))
        self.episodes = np.asarray(episodes, np.int64)
        """Ids of the episodes the windows come from."""
        assert self.episodes.max(initial=-1) < len(store), (self.episodes.max(), len(store))
        self.needed_rows = needed_rows(frame_skip, low_steps, last_action_unused)
        self._ends = np.cumsum(window_counts(store.rows[self.episodes], self.needed_rows, stride))
        if not len(self):
            raise self._too_short()

    def __len__(self) -> int:
        """Number of windows."""
        return int(self._ends[-1]) if len(self._ends) else 0

    def read(self, indices: NDArray[np.int64]) -> dict[str, Tensor]:
        """The windows of these numbers, in this order; b windows of t frames. A low step is a block (section 3.1).

        frames/<camera>   uint8 (b, t, height, width, 3)
        actions           float32 (b, t, f * action_dim), the environment's own units; NaN where no action was taken
        proprio/<column>  float32 (b, t, q), the column's own units
        episode, row      int64 (b), where each window starts
        """
        episode, row = self._locate(indices)
        rows = self._frame_rows(episode, row)
        batch = {f"frames/{camera}": self._frames(camera, rows) for camera in self.cameras}
        batch["actions"] = torch.from_numpy(self._blocks(episode, row))
        for name in self.proprio:
            values = self.store.read_rows(name, rows).reshape(*rows.shape, -1)
            batch[f"proprio/{name}"] = torch.from_numpy(values.astype(np.float32, copy=False))
        return {**batch, "episode": torch.from_numpy(episode), "row": torch.from_numpy(row)}

    def frame_rows(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Global rows of the windows' frames, int64 (b, t): what a cache of latents is indexed by."""
        return self._frame_rows(*self._locate(indices))

    def _locate(self, indices: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Episode id and start row of each window."""
        assert indices.ndim == 1, indices.shape
        assert not len(indices) or (indices.min() >= 0 and indices.max() < len(self)), (indices, len(self))
        position = np.searchsorted(self._ends, indices, side="right")
        before = np.where(position > 0, self._ends[position - 1], 0)
        return self.episodes[position], (indices - before) * self.stride

    def _frame_rows(self, episode: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.int64]:
        first = self.store.first_rows[episode] + row
        return first[:, None] + self.frame_skip * np.arange(self.low_steps)

    def _frames(self, camera: str, rows: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self.store.read_frames(camera, rows, self._size, self._draw[camera]))

    def _blocks(self, episode: NDArray[np.int64], row: NDArray[np.int64]) -> NDArray[np.float32]:
        """Dense environment actions, f of them to a block; rows behind the episode's end are NaN."""
        first, end = self.store.first_rows[episode], self.store.first_rows[episode] + self.store.rows[episode]
        rows = (first + row)[:, None] + np.arange(self.low_steps * self.frame_skip)
        behind = rows >= end[:, None]
        actions = self.store.read_rows(self._action.name, np.minimum(rows, end[:, None] - 1))
        actions = actions.astype(np.float32, copy=False)
        actions[behind] = np.nan
        return actions.reshape(len(rows), self.low_steps, -1)

    def _too_short(self) -> DataError:
        longest = int(self.store.rows[self.episodes].max(initial=0))
        return DataError(
            f"A window of {self.low_steps} low steps at frame skip {self.frame_skip} needs {self.needed_rows} "
            f"environment rows, and the longest of {len(self.episodes)} episodes of {self.store.path} has {longest}. "
            "Shorten the rollout or the frame skip of the recipe, or collect longer episodes."
        )


def _check_camera(store: Store, camera: str, size: int | None, draw: Draw | None) -> None:
    """Fail when the windows are made, not when the first one is read."""
    spec = store.camera(camera)
    if spec.kind == "drawn":
        store.require_drawer(spec, size, draw)


def _check_proprio(store: Store, spec: ColumnSpec) -> None:
    if spec.role != "proprio":
        declared = [column.name for column in store.columns_of("proprio")]
        raise DataError(
            f"{store.path}: models see pixels, actions and proprio columns only, and column {spec.name!r} has the role "
            f"{spec.role}. Declared proprio columns: {', '.join(declared) or 'none'}; import the data again with the "
            "role proprio if a model may see this column."
        )
