"""Checkpoints that survive being killed at any moment: two files each, the second of which makes the first count.

`NAME.safetensors` holds the tensors, `NAME.json` everything else together with the digests of both. Each is written
under a temporary name, brought to the disk and renamed; a checkpoint exists once its JSON file does. The newest two
are kept, and what fails its digest is set aside in favour of the one before. Nothing is ever unpickled.

Tests kill the process at named points of `save` through the environment variable DUALWM_KILL_AT=NAME:POINT.
"""

import hashlib
import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file  # pyright: ignore[reportUnknownVariableType]

from dualwm.errors import SystemFolderError
from dualwm.files import sync_folder
from dualwm.shapes import Tensor

FORMAT = 1
WRITE_POINTS = (
    "begun",
    "tensors-written",
    "tensors-renamed",
    "facts-half-written",
    "facts-written",
    "facts-renamed",
    "pruning",
    "pruned",
)
"""Between any two writes of `save` there is one of these."""


@dataclass(frozen=True, order=True)
class Position:
    """How far a run has come: `step` optimiser steps of stage number `stage` are done."""

    stage: int
    step: int

    @property
    def name(self) -> str:
        """The checkpoint's file name without ending; names sort like positions."""
        return f"{self.stage:02d}-{self.step:010d}"


@dataclass(frozen=True)
class Saved:
    """A checkpoint read back and found whole."""

    position: Position
    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


class Checkpoints:
    """The checkpoints of one run, in a folder of their own."""

    def __init__(self, folder: Path, keep: int = 2) -> None:
        self.folder, self._keep = folder, keep

    def save(self, position: Position, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Write a checkpoint; until it is complete, those before it stay untouched."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _point(position, "begun")
        heavy, light = self._files(position.name)
        part = heavy.with_name(heavy.name + ".part")
        save_file({name: _own_memory(tensor) for name, tensor in tensors.items()}, part)
        # safetensors makes files only their owner can read; the folder knows what the user's umask wants.
        part.chmod(self.folder.stat().st_mode & 0o666)
        _point(position, "tensors-written")
        digest = _file_digest(part)
        _put(part, heavy)
        _point(position, "tensors-renamed")
        body = {"format": FORMAT, "stage": position.stage, "step": position.step, "tensors_sha256": digest, **facts}
        self._write_facts(position, light, body)
        _point(position, "facts-renamed")
        self._prune(position)

    def newest(self, warn: Callable[[str], None]) -> Saved | None:
        """The newest whole checkpoint, None where there is none yet. Damaged ones are set aside with a warning."""
        names = self._names()
        for name in reversed(names):
            try:
                return self.load(name)
            except SystemFolderError as problem:
                warn(f"{problem} It was set aside; the checkpoint before it is used.")
                for path in self._files(name):
                    if path.exists():
                        path.replace(path.with_name(path.name + ".damaged"))
        if names:
            raise SystemFolderError(
                f"None of the checkpoints in {self.folder} is whole: {', '.join(names)}. The run cannot be continued. "
                "Restore the folder from a copy, or give another --out (or remove the folder) to begin anew."
            )
        return None

    def load(self, name: str) -> Saved:
        """One checkpoint by name, its digests checked."""
        heavy, light = self._files(name)
        try:
            data = json.loads(light.read_text())
            body = data["facts"]
            if data["facts_sha256"] != _text_digest(_canonical(body)):
                raise ValueError("its digest does not match")
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise SystemFolderError(f"The checkpoint {light} is damaged ({problem}).") from problem
        if body["format"] > FORMAT:
            raise SystemFolderError(
                f"The checkpoint {light} has format {body['format']}; this version of dualwm reads up to {FORMAT}."
            )
        if not heavy.exists() or _file_digest(heavy) != body["tensors_sha256"]:
            raise SystemFolderError(f"The checkpoint {heavy} is damaged (missing, or its digest does not match).")
        return Saved(Position(body["stage"], body["step"]), load_file(heavy), body)

    def _write_facts(self, position: Position, path: Path, body: Mapping[str, Any]) -> None:
        text = json.dumps({"facts": body, "facts_sha256": _text_digest(_canonical(body))}, indent=1)
        part = path.with_name(path.name + ".part")
        with part.open("w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            _point(position, "facts-half-written")
            file.write(text[len(text) // 2 :])
        _point(position, "facts-written")
        _put(part, path)

    def _prune(self, position: Position) -> None:
        """Remove all but the newest, then whatever a killed process left half-written."""
        names = self._names()
        for name in names[: -self._keep]:
            heavy, light = self._files(name)
            light.unlink()
            _point(position, "pruning")
            heavy.unlink(missing_ok=True)
        kept = {path.name for name in names[-self._keep :] for path in self._files(name)}
        for path in self.folder.iterdir():
            if path.name not in kept and path.suffix in (".part", ".safetensors"):
                path.unlink()
        _point(position, "pruned")

    def _names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.safetensors", self.folder / f"{name}.json"


def _put(part: Path, path: Path) -> None:
    """Bring a finished temporary file to the disk and give it its name."""
    with part.open("rb+") as file:
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)


def _own_memory(tensor: Tensor) -> Tensor:
    """The tensor on the CPU with a storage of its own, as safetensors asks for."""
    mine = tensor.detach().cpu().contiguous()
    return mine if mine.untyped_storage().nbytes() == mine.numel() * mine.element_size() else mine.clone()


def _canonical(body: Mapping[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"))


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _point(position: Position, point: str) -> None:
    """Die here, as if the power had gone, when a test asks for it."""
    if os.environ.get("DUALWM_KILL_AT") == f"{position.name}:{point}":
        os.kill(os.getpid(), signal.SIGKILL)
