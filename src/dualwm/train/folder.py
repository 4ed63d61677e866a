"""A run's folder: which run it is (`run.json`), who writes it (`.lock`), and what the settings differ in.

OUT/run.json         the settings that decide the weights
OUT/metrics.jsonl    one line per log step, look at held-out data and alarm
OUT/checkpoints/     the newest two
"""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dualwm.errors import RecipeError, SystemFolderError
from dualwm.files import PART_SUFFIX, only_writer, write_whole

FORMAT = 1
_SHOWN = 5
"""Names or differences that a message lists; the others are counted."""


def refuse_foreign(out: Path) -> None:
    """Refuse a path that is no folder, and a folder that holds anything but a run. Nothing is written."""
    if out.exists() and not out.is_dir():
        raise SystemFolderError(f"{out} should be the folder of a run, and it is a file. Give another --out.")
    if not out.exists() or (out / "run.json").exists():
        return
    strangers = sorted(p.name for p in out.iterdir() if not p.name.startswith(".") and p.suffix != PART_SUFFIX)
    if strangers:
        raise SystemFolderError(
            f"{out} should be a new folder, or one with a run in it, and it holds no run.json but "
            f"{_few(strangers, ', ')}. Give another --out: nothing is written among files that something else left."
        )


def claim(out: Path, settings: Mapping[str, Any]) -> None:
    """Make `out` this run's folder, or check that it already is. Other settings are refused with their differences."""
    settings = json.loads(json.dumps(settings))
    path = out / "run.json"
    if not path.exists():
        write_whole(path, json.dumps({"format": FORMAT, "settings": settings}, indent=1) + "\n")
        return
    try:
        there = json.loads(path.read_text())["settings"]
    except (ValueError, KeyError, TypeError) as problem:
        raise SystemFolderError(
            f"{path} should describe the run in JSON and cannot be read ({problem}). "
            "Restore it from a copy, or give another --out to begin anew."
        ) from problem
    different = differences(there, settings)
    if different:
        raise RecipeError(
            f"{out} holds a run with other settings, and continuing it with these would mix two runs. "
            f"Different: {_few(different, '; ')}. "
            "Type the command the run was started with, or give another --out to begin a new one."
        )


def differences(there: Any, here: Any, where: str = "") -> list[str]:
    """What differs between two trees of plain data, one phrase per leaf."""
    if isinstance(there, dict) and isinstance(here, dict):
        keys: list[str] = sorted({*there, *here})  # pyright: ignore[reportUnknownArgumentType]
        missing = "nothing"
        return [
            phrase
            for key in keys
            for phrase in differences(
                there.get(key, missing),  # pyright: ignore[reportUnknownArgumentType]
                here.get(key, missing),  # pyright: ignore[reportUnknownArgumentType]
                f"{where}.{key}" if where else key,
            )
        ]
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):  # pyright: ignore[reportUnknownArgumentType]
        pairs: list[tuple[Any, Any]] = list(zip(there, here, strict=True))  # pyright: ignore[reportUnknownArgumentType]
        return [phrase for i, (a, b) in enumerate(pairs) for phrase in differences(a, b, f"{where}[{i}]")]
    return [] if there == here else [f"{where}: the run has {there!r}, now {here!r}"]


def _few(phrases: Sequence[str], separator: str) -> str:
    more = [f"and {len(phrases) - _SHOWN} more"] if len(phrases) > _SHOWN else []
    return separator.join([*phrases[:_SHOWN], *more])


@contextmanager
def locked(out: Path) -> Generator[None, None, None]:
    """The run's folder, made if it is missing, with a second writer kept out."""
    refuse_foreign(out)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise SystemFolderError(f"{out} cannot be made ({problem}). Give another --out.") from problem

    def refuse(holder: str) -> Exception:
        return SystemFolderError(
            f"Another process (number {holder}) is training in {out} right now. "
            "Wait until it is done, stop it, or give another --out."
        )

    with only_writer(out, refuse):
        yield
