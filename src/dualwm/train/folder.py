"""A run's folder: which run it is (`run.json`), who writes it (`.lock`), and what the settings differ in.

OUT/run.json         the settings that decide the weights
OUT/metrics.jsonl    one line per log step, look at held-out data and alarm
OUT/checkpoints/     the newest two
"""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dualwm.errors import RecipeError, SystemFolderError
from dualwm.files import only_writer, write_whole

FORMAT = 1


def claim(out: Path, settings: Mapping[str, Any]) -> None:
    """Make `out` this run's folder, or check that it already is. Other settings are refused with their differences."""
    settings = json.loads(json.dumps(settings))
    path = out / "run.json"
    if not path.exists():
        strangers = [p.name for p in out.glob("checkpoints/*.json")] if out.exists() else []
        if strangers:
            raise SystemFolderError(
                f"{out} holds checkpoints ({', '.join(strangers)}) but no run.json, so nobody can tell whose they are. "
                "Give another --out, or remove the folder to begin anew."
            )
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
            f"Different: {'; '.join(different)}. "
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


@contextmanager
def locked(out: Path) -> Generator[None, None, None]:
    """The run's folder, made if it is missing, with a second writer kept out."""
    out.mkdir(parents=True, exist_ok=True)

    def refuse(holder: str) -> Exception:
        return SystemFolderError(
            f"Another process (number {holder}) is training in {out} right now. "
            "Wait until it is done, stop it, or give another --out."
        )

    with only_writer(out, refuse):
        yield
