"""Low latents of a whole data set, encoded once by the frozen low level: what the high level trains on.

A memory-mapped float32 array with one row per data-set row, written in chunks. A sidecar says for which weights and
data it is and how many rows are done, so an interrupted encoding continues and a stale one is made anew.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dualwm.data.windows import Windows
from dualwm.files import write_whole
from dualwm.model.dual import DualWM
from dualwm.shapes import Tensor
from dualwm.train.stage import Rehearsal, Source
from dualwm.zoo.method import BLIND, TrainingInputs
from dualwm.zoo.sources import Normalised, window_sources

_CHUNK = 4096
"""Rows per encoder call. Fixed: the bits of a latent may depend on it."""


@dataclass(frozen=True)
class LatentCache:
    """Cached latents and the data they are of."""

    path: Path
    inputs: TrainingInputs

    @staticmethod
    def make(folder: Path, model: DualWM, inputs: TrainingInputs) -> "LatentCache":
        """Encode every row of the data set, or continue, or find it done."""
        folder.mkdir(parents=True, exist_ok=True)
        cache = LatentCache(folder / "low.npy", inputs)
        rows, width = inputs.store.total_rows, model.config.low.width
        key = {"weights": _digest(model), "data": inputs.store.digest, "rows": rows, "size": inputs.image_size}
        note = folder / "low.json"
        done = _rows_done(note, key)
        if done == 0:
            np.lib.format.open_memmap(cache.path, mode="w+", dtype=np.float32, shape=(rows, width)).flush()
            write_whole(note, json.dumps({**key, "done": 0}))
        latents = np.load(cache.path, mmap_mode="r+", allow_pickle=False)
        for begin in range(done, rows, _CHUNK):
            end = min(begin + _CHUNK, rows)
            latents[begin:end] = cache._encode(model, np.arange(begin, end))
            if end == rows or (begin // _CHUNK) % 8 == 7:
                latents.flush()
                write_whole(note, json.dumps({**key, "done": end}))
        return cache

    @torch.inference_mode()
    def _encode(self, model: DualWM, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        inputs, low = self.inputs, model.low
        device = next(low.parameters()).device
        frames = {
            name: _tensor(inputs.store.read_frames(name, rows, size=inputs.image_size, draw=inputs.draw.get(name))).to(
                device
            )
            for name in low.E_L.cameras
        }
        proprio = {
            name: _tensor(inputs.normalizer.normalize(name, _numbers(inputs.store.read_rows(name, rows)))).to(device)
            for name in low.E_L.proprio
        }
        was_training = low.training
        low.eval()
        z = model.encode(frames, proprio).float().cpu().numpy()
        low.train(was_training)
        return z

    def sources(self, *, frame_skip: int, low_steps: int) -> tuple[Source, Source]:
        """Training and held-out windows of latents."""
        latents = np.load(self.path, mmap_mode="r", allow_pickle=False)
        train, heldout = window_sources(self.inputs, BLIND, frame_skip=frame_skip, low_steps=low_steps)
        return _LatentWindows(train, latents), _LatentWindows(heldout, latents)

    @staticmethod
    def rehearsal(model: DualWM, inputs: TrainingInputs, *, frame_skip: int, low_steps: int) -> Rehearsal:
        """Zero latents of the right shape; seconds and bytes of encoding, measured on as few rows as tell something."""
        rows = inputs.store.total_rows
        few, seconds = 0, 0.0
        while few < min(rows, 512) and seconds < 0.5:
            few = min(rows, max(8, 4 * few))
            began = time.perf_counter()
            LatentCache(Path(), inputs)._encode(model, np.arange(few))
            seconds = time.perf_counter() - began
        seconds *= rows / few
        train, _ = window_sources(inputs, BLIND, frame_skip=frame_skip, low_steps=low_steps)
        blank = np.zeros((1, model.config.low.width), np.float32)
        source = _LatentWindows(train, np.broadcast_to(blank, (rows, blank.shape[1])))
        return Rehearsal(source=source, prepare_s=seconds, disk_bytes=rows * blank.shape[1] * 4)


@dataclass(frozen=True)
class _LatentWindows:
    """A source of windows that carry latents instead of pictures."""

    windows: Normalised
    latents: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.windows)

    def read(self, indices: NDArray[np.int64]) -> dict[str, Tensor]:
        """Latents (b, t, d) and normalised actions."""
        inner: Windows = self.windows.windows
        batch = self.windows.read(indices)
        batch["latents"] = torch.from_numpy(np.ascontiguousarray(self.latents[inner.frame_rows(indices)]))
        return batch


def _tensor(rows: NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(rows))


def _numbers(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Rows of a column as windows hand them out: float32 (n, q)."""
    return rows.reshape(len(rows), -1).astype(np.float32)


def _rows_done(note: Path, key: Mapping[str, object]) -> int:
    try:
        found = json.loads(note.read_text())
        return int(found["done"]) if {name: found[name] for name in key} == key else 0
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _digest(model: DualWM) -> str:
    """Hash of the weights that decide a latent."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.low.E_L.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
