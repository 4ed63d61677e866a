"""Making a data set of somebody else's folder. The same command continues: what was imported before is skipped."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dualwm.data.formats import Arrays, RawEpisode, find_episodes
from dualwm.data.roles import Use, is_pictures, plan_columns, read_roles
from dualwm.data.schema import StoreMeta, created_by
from dualwm.data.store import Store
from dualwm.data.writer import Writer
from dualwm.errors import DataError
from dualwm.records import Columns, ColumnSpec, Episode

NO_SEED = -1


@dataclass(frozen=True, kw_only=True)
class ImportSettings:
    """How foreign arrays are read. The defaults fit a folder that follows the conventions of this package."""

    roles: tuple[str, ...] = ()
    """NAME=ROLE, NAME=pixels:CAMERA or NAME=skip; the others are guessed."""
    world: str = ""
    """Name of the world the episodes come from, where there is one."""
    action_leads: Literal["out", "in"] = "out"
    """out: row t holds the action taken from observation t. in: the action that led to observation t."""
    discrete_actions: int | None = None
    """Number of choices, where actions are whole numbers that name a choice; they become one-hot."""
    resize: tuple[int, int] | None = None
    """(height, width) every picture is resized to."""
    codec: str | None = None
    """How frames are compressed; None stores them as they are."""


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What an import did."""

    store: Store
    uses: tuple[Use, ...]
    imported: int
    skipped: int
    """Episodes that were there from an earlier import."""


def import_folder(
    folder: str | Path,
    out: str | Path,
    settings: ImportSettings,
    *,
    command: str = "",
    announce: Callable[[Sequence[Use]], None] = lambda uses: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Imported:
    """Append the folder's episodes to the data set `out`, made if it is missing.

    `announce` hears the plan before anything is written; `progress(done, total)` counts episodes.
    """
    found = find_episodes(Path(folder))
    first = found[0].load()
    uses = _filled(plan_columns(first, read_roles(settings.roles), _where(found[0])), first, settings, _where(found[0]))
    announce(uses)
    meta = StoreMeta(
        columns=tuple(use.spec for use in uses),
        world=settings.world,
        law={"imported": {"action_leads": settings.action_leads, "discrete_actions": settings.discrete_actions}},
        created=created_by(command),
    )
    with Writer(out, meta) as writer:
        there = {source.rpartition("@")[0]: source for source in (entry.source for entry in writer.entries)}
        before = len(writer.entries)
        for done, raw in enumerate(found, start=1):
            source = raw.source
            if there.get(raw.name) != source:
                _refuse_changed(raw, there, Path(out))
                columns = _columns(raw.load(), uses, settings, _where(raw))
                writer.append([Episode(id=len(writer.entries), seed=NO_SEED, source=source, columns=columns)])
                there[raw.name] = source
            progress(done, len(found))
        imported = len(writer.entries) - before
    return Imported(store=Store.open(out), uses=tuple(uses), imported=imported, skipped=len(found) - imported)


def _filled(uses: Sequence[Use], first: Arrays, settings: ImportSettings, where: str) -> list[Use]:
    """The plan with the types and row shapes the first episode gives."""
    rows = _columns(first, uses, settings, where)
    specs = [
        replace(
            use.spec,
            dtype=rows[use.spec.name].dtype.name,
            shape=rows[use.spec.name].shape[1:],
            codec=settings.codec if use.spec.kind == "frames" else None,
        )
        for use in uses
    ]
    return [replace(use, spec=spec) for use, spec in zip(uses, specs, strict=True)]


def _columns(arrays: Arrays, uses: Sequence[Use], settings: ImportSettings, where: str) -> Columns:
    """The columns of one episode."""
    missing = [name for use in uses for name in use.sources if name not in arrays]
    if missing:
        raise DataError(f"{where} has no array {missing[0]!r}, which the first episode has. Add it, or skip it in all.")
    columns = {use.spec.name: _convert(use.spec, [arrays[n] for n in use.sources], settings, where) for use in uses}
    action = next(use.spec.name for use in uses if use.spec.role == "action")
    lengths = {name: len(rows) for name, rows in columns.items() if name != action}
    rows = max(lengths.values(), default=len(columns[action]))
    if set(lengths.values()) - {rows} or len(columns[action]) not in (rows, rows - 1):
        raise DataError(
            f"{where} should have as many rows in every array, and actions for all of them or for all but the last; "
            f"found { ({**lengths, action: len(columns[action])}) }. Repair the source, or skip arrays with NAME=skip."
        )
    return {**columns, action: _aligned(columns[action], rows, settings.action_leads, where)}


def _convert(spec: ColumnSpec, arrays: list[NDArray[Any]], settings: ImportSettings, where: str) -> NDArray[Any]:
    """Rows in the type of their role."""
    where = f"{where}, column {spec.name!r}"
    if spec.role == "pixels":
        return _pictures(arrays[0], settings.resize, where)
    if any(array.dtype.kind not in "biuf" or array.ndim == 0 for array in arrays):
        raise DataError(f"{where} should hold numbers by row, found {[(a.dtype.name, a.shape) for a in arrays]}.")
    if spec.role == "action":
        return np.concatenate([_action_rows(array, settings, where) for array in arrays], axis=1)
    if spec.role == "proprio":
        return arrays[0].reshape(len(arrays[0]), -1).astype(np.float32)
    return arrays[0]


def _action_rows(array: NDArray[Any], settings: ImportSettings, where: str) -> NDArray[np.float32]:
    """float32 (t, width); choices become one-hot."""
    choices = settings.discrete_actions
    single = array.reshape(len(array), -1).shape[1] == 1
    if choices is None:
        if array.dtype.kind in "biu" and single:
            raise DataError(
                f"{where} holds one whole number per row, which looks like a choice. Say how many choices there are "
                "with `--discrete-actions N`, or store the actions as floats if the number is a quantity."
            )
        return array.reshape(len(array), -1).astype(np.float32)
    flat = array.reshape(-1).astype(np.float64)
    known = ~np.isnan(flat)
    if not single or ((flat[known] % 1 != 0) | (flat[known] < 0) | (flat[known] >= choices)).any():
        raise DataError(
            f"{where} should hold one whole number from 0 to {choices - 1} per row for `--discrete-actions {choices}`, "
            f"found {array.dtype.name} {array.shape} from {np.nanmin(flat):g} to {np.nanmax(flat):g}."
        )
    rows = np.full((len(flat), choices), np.nan, np.float32)
    rows[known] = np.eye(choices, dtype=np.float32)[flat[known].astype(np.int64)]
    return rows


def _aligned(actions: NDArray[np.float32], rows: int, leads: Literal["out", "in"], where: str) -> NDArray[np.float32]:
    """Row t = the action taken from observation t. The last row's action was never taken: NaN."""
    if leads == "out" and len(actions) == rows > 1 and np.isnan(actions[0]).all() and not np.isnan(actions[-1]).any():
        raise DataError(
            f"{where} has no action in its first row but one in its last: its actions seem to lead INTO their rows. "
            "Import with `--action-leads in`."
        )
    out = np.full((rows, actions.shape[1]), np.nan, np.float32)
    taken = actions[len(actions) - (rows - 1) :] if leads == "in" else actions[: rows - 1]
    out[: rows - 1] = taken
    return out


def _pictures(array: NDArray[Any], size: tuple[int, int] | None, where: str) -> NDArray[np.uint8]:
    """uint8 (t, height, width, 3), whatever the order of the axes was."""
    if array.dtype != np.uint8 or not is_pictures(array):
        raise DataError(
            f"{where} should hold pictures as uint8 (rows, height, width, 3), found {array.dtype.name} {array.shape}. "
            "Convert them (values 0 to 255), or give the array another role."
        )
    frames = array if array.shape[-1] in (3, 4) else np.moveaxis(array, 1, -1)
    frames = np.ascontiguousarray(frames[..., :3])
    return frames if size is None or frames.shape[1:3] == size else np.stack([*_resized(frames, size)])


def _resized(frames: NDArray[np.uint8], size: tuple[int, int]) -> Iterator[NDArray[np.uint8]]:
    from PIL import Image

    for frame in frames:
        yield np.asarray(Image.fromarray(frame).resize((size[1], size[0]), Image.Resampling.BOX))


def _where(raw: RawEpisode) -> str:
    return f"Episode {raw.name!r} ({raw.files[0].parent})"


def _refuse_changed(raw: RawEpisode, there: dict[str, str], out: Path) -> None:
    if raw.name in there:
        raise DataError(
            f"{_where(raw)} was imported into {out} before and has changed since. An episode is never replaced: import "
            "the folder into a new data set, or give the changed episode another name."
        )
