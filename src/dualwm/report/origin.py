"""Where a number comes from: the folder, the command that was typed, versions, the kind of machine, the settings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from dualwm.errors import ProtocolError
from dualwm.records import TaskSet


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a run folder says of how it was made. Older folders say less: then it is empty."""

    folder: Path
    command: str
    versions: Mapping[str, str]
    machine: Mapping[str, Any]
    commit: str | None
    settings: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """System -> goal offset -> planner settings."""
    collections: Mapping[str, str]
    """TaskSet digest -> dev or test."""

    def search(self, system: str, offset: int) -> str | None:
        """The sizes of a system's searches in words, or None where nothing is known."""
        settings = self.settings.get(system, {}).get(str(offset), {})
        sizes = {name.removesuffix("_search"): _size(value) for name, value in settings.items() if "search" in name}
        if not settings.get("guided_decisions", 1):
            sizes.pop("high", None)  # nothing is ever planned with it
        return ", ".join(f"{level} {size}" for level, size in sorted(sizes.items(), reverse=True)) or None

    @property
    def device(self) -> str | None:
        """The kind of machine in words."""
        if not self.machine:
            return None
        return f"{self.machine.get('platform')}, {self.machine.get('cpu_capability')}"


def origin(folder: Path) -> Origin:
    """Read what a folder says of itself."""
    sessions = [one for file in sorted(folder.glob("provenance*.json")) for one in _json(file, list)]
    sessions.sort(key=lambda one: str(one.get("began")))
    last: dict[str, Any] = sessions[-1] if sessions else {}
    asked: dict[str, Any] = _json(folder / "command.json", dict) if (folder / "command.json").exists() else {}
    tasksets = [TaskSet.from_plain(_json(file, dict)["taskset"]) for file in sorted(folder.glob("taskset-*.json"))]
    return Origin(
        folder=folder,
        command=str(last.get("command", "")),
        versions=last.get("versions", {}),
        machine=last.get("machine", {}),
        commit=last.get("commit"),
        settings={**last.get("settings", {}), **asked.get("settings", {})},
        collections={taskset.digest: taskset.collection for taskset in tasksets},
    )


def _size(value: Any) -> str:
    """candidates/iterations/elites."""
    if isinstance(value, Mapping):
        sizes = cast("Mapping[str, Any]", value)
        return "/".join(str(sizes.get(name, "?")) for name in ("candidates", "iterations", "elites"))
    return str(value)


def _json(file: Path, kind: type) -> Any:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise ProtocolError(f"{file}: expected JSON, and could not read it ({problem}). Restore the file.") from problem
    if not isinstance(data, kind):
        raise ProtocolError(f"{file}: expected a JSON {kind.__name__}, found {type(data).__name__}. Restore the file.")
    return data
