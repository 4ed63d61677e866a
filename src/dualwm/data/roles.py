"""Which array of somebody else's episode becomes which column, guessed from the first episode and from what was said.

A role is said as NAME=ROLE, NAME=pixels:CAMERA or NAME=skip. Arrays in the role action, such as `action_x` and
`action_y`, are put side by side into one column `action`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from dualwm.data.formats import Arrays
from dualwm.errors import DataError, did_you_mean
from dualwm.records import ColumnRole, ColumnSpec

ACTION = "action"

_ROLES: dict[str, ColumnRole | None] = {**{role: role for role in get_args(ColumnRole)}, "skip": None}
_GUESSES: tuple[tuple[ColumnRole, str], ...] = (
    ("action", r"(actions?|act|controls?|commands?)([_.]d?[a-z])?"),
    ("proprio", r".*(proprio|qpos|qvel|joint|gripper|agent_pos|end_?effector|ee_).*"),
    ("state", r".*(state|obs|pos|sim).*"),
)


@dataclass(frozen=True, kw_only=True)
class Use:
    """What one column of the data set is made of."""

    sources: tuple[str, ...]
    """Names of the arrays, side by side."""
    spec: ColumnSpec
    """The column."""

    @property
    def line(self) -> str:
        """One line for people."""
        role = f"pixels of camera {self.spec.camera!r}" if self.spec.camera else self.spec.role
        return f"{' + '.join(self.sources)} -> {self.spec.name}: {role}, {self.spec.dtype} {self.spec.shape}"


def read_roles(said: Sequence[str]) -> dict[str, tuple[ColumnRole | None, str | None]]:
    """Array name -> (role, camera) of what was said on the command line; the role None means skip."""
    roles: dict[str, tuple[ColumnRole | None, str | None]] = {}
    for words in said:
        name, _, role = words.rpartition("=")
        role, _, camera = role.partition(":")
        if not name or role not in _ROLES or (camera and role != "pixels"):
            raise DataError(
                f"A role is said as NAME=ROLE with ROLE one of {', '.join(_ROLES)}, or as NAME=pixels:CAMERA; found "
                f"{words!r}. {did_you_mean(role, _ROLES)}"
            )
        roles[name] = (_ROLES[role], camera or (name if role == "pixels" else None))
    return roles


def plan_columns(arrays: Arrays, said: Mapping[str, tuple[ColumnRole | None, str | None]], where: str) -> list[Use]:
    """How the arrays of a first episode become columns. The specifications' shapes are filled in by `filled`."""
    unknown = [name for name in said if name not in arrays]
    if unknown:
        raise DataError(f"{where} has no array {unknown[0]!r} to give a role to. {did_you_mean(unknown[0], arrays)}")
    uses: list[Use] = []
    actions: list[str] = []
    for name, array in arrays.items():
        role, camera = said.get(name) or _guess(name, array)
        if role == "action":
            actions.append(name)
        elif role is not None:
            kind = "frames" if role == "pixels" else "array"
            spec = ColumnSpec(name=_safe(name), kind=kind, dtype="", shape=(), role=role, camera=camera)
            uses.append(Use(sources=(name,), spec=spec))
    if not actions:
        raise DataError(
            f"{where}: none of the arrays {', '.join(arrays)} looks like actions. Say which are, for example "
            f"`--roles {_likely_actions(arrays)}`; several become one column, side by side."
        )
    spec = ColumnSpec(name=ACTION, kind="array", dtype="", shape=(), role="action")
    return [*uses, Use(sources=tuple(actions), spec=spec)]


def _likely_actions(arrays: Arrays) -> str:
    """Roles as they would be typed: numbers whose name speaks of acting, or the first numbers there are."""
    numbers = [name for name, array in arrays.items() if _guess(name, array)[0] not in (None, "pixels")]
    acting = [name for name in numbers if re.search(r"act|control|command", name.lower())]
    return " ".join(f"{name}=action" for name in acting or numbers[:1] or ["NAME"])


def is_pictures(array: NDArray[Any]) -> bool:
    """Whether an array can be pictures: (t, height, width, 3 or 4), or with the channels in front."""
    return array.ndim == 4 and (array.shape[-1] in (3, 4) or array.shape[1] in (3, 4))


def _guess(name: str, array: NDArray[Any]) -> tuple[ColumnRole | None, str | None]:
    if array.ndim == 0 or array.dtype.kind not in "biuf":
        return None, None
    if array.dtype == np.uint8 and is_pictures(array):
        return "pixels", _safe(name)
    guesses: list[ColumnRole] = [role for role, words in _GUESSES if re.fullmatch(words, name.lower())]
    return (guesses or ["aux"])[0], None


def _safe(name: str) -> str:
    """The name with whatever cannot stand in a file's name replaced."""
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", name).lstrip(".-") or "column"
