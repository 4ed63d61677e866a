"""What in a data set would spoil training. Looks; changes nothing."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dualwm.data.describe import length_facts
from dualwm.data.findings import LEVELS, Finding, error, note, some, warning
from dualwm.data.normalize import CONSTANT_STD, is_one_hot
from dualwm.data.overlap import duplicates, leakage, seeds
from dualwm.data.schema import checksum, stored
from dualwm.data.store import Store
from dualwm.data.windows import needed_rows, window_counts
from dualwm.errors import DataError
from dualwm.records import ColumnSpec

SAMPLED_EPISODES = 200
_FEW_WINDOWS = 1_000


def check(
    store: Store,
    *,
    geometries: Sequence[tuple[str, int, int]] = (),
    against: Store | None = None,
    every_episode: bool = False,
) -> list[Finding]:
    """Everything worth saying about a data set, errors first.

    `geometries` are (name, frame_skip, low_steps) of the windows that recipes read. Pictures and checksums are looked
    at in a sample of the episodes unless `every_episode`; numbers always in all of them.
    """
    if not len(store):
        return [error("empty", f"{store.path} has no episode. Collect or import some.")]
    sample = store.ids if every_episode else _spread(store.ids, SAMPLED_EPISODES)
    findings = [*_integrity(store, sample)]
    readable = all(found.level == "note" for found in findings)
    findings += [
        *_lengths(store),
        *_windows(store, geometries),
        *_actions(store),
        *(found for spec in stored(store.meta.columns) if spec.kind == "array" for found in _numbers(store, spec)),
        *(found for spec in store.columns_of("pixels") if readable for found in _pictures(store, spec, sample)),
        *seeds(store),
        *duplicates(store),
        *(leakage(store, against) if against is not None else ()),
    ]
    return sorted(findings, key=lambda found: LEVELS.index(found.level))


def _lengths(store: Store) -> Iterator[Finding]:
    facts = length_facts(store.rows)
    yield note(
        "lengths",
        f"{len(store)} episodes of {facts['min']} to {facts['max']} rows, median {facts['median']:g}.",
        **facts,
    )
    single = np.flatnonzero(store.rows < 2)
    if len(single):
        yield warning(
            "lengths",
            f"{len(single)} episodes have a single row ({some(single)}): no action leads anywhere in them. They are "
            "never read; record longer ones.",
            episodes=len(single),
        )


def _windows(store: Store, geometries: Sequence[tuple[str, int, int]]) -> Iterator[Finding]:
    """How many windows each recipe really gets: too short episodes train nothing, and nobody tells."""
    usable_by_any = False
    for name, frame_skip, low_steps in geometries:
        needed = needed_rows(frame_skip, low_steps)
        counts = window_counts(store.rows, needed)
        total, usable = int(counts.sum()), int((counts > 0).sum())
        usable_by_any |= total > 0
        facts = {"recipe": name, "needed_rows": needed, "windows": total, "episodes": usable}
        text = (
            f"{name} ({low_steps} low steps at frame skip {frame_skip}, {needed} rows) gets {total:,} windows from "
            f"{usable:,} of {len(store):,} episodes"
        )
        if total and total == usable:
            text += "; each gives one window, always the same rows. Record longer episodes or shorten the rollout."
            yield warning("windows", text, **facts)
        elif total < _FEW_WINDOWS or 2 * usable < len(store):
            yield warning("windows", text + ". Record longer or more episodes, or shorten the rollout.", **facts)
        else:
            yield note("windows", text + ".", **facts)
    if not geometries:
        text = (
            "No windows were counted: no recipe is known to read this data. Name yours with --recipes "
            "FILE.py:FUNCTION, or shapes with --windows FRAME_SKIPxLOW_STEPS."
        )
        yield note("windows", text)
    elif not usable_by_any:
        yield error("windows", "No recipe gets a single window out of this data set. Record longer episodes.")


def _actions(store: Store) -> Iterator[Finding]:
    try:
        spec = store.action()
    except DataError as problem:
        yield error("actions", str(problem))
        return
    broken, taken_at_end, one_hot, taken = list[int](), 0, True, 0
    for ids, rows in store.chunks(spec.name, store.ids):
        last = np.cumsum(store.rows[ids]) - 1
        missing = np.asarray(np.isnan(rows).any(axis=1), np.int64)
        taken += int((1 - missing).sum())
        taken_at_end += int((1 - missing[last]).sum())
        one_hot = one_hot and is_one_hot(rows[missing == 0])
        missing[last] = 0
        broken += ids[np.add.reduceat(missing, np.append(0, last[:-1] + 1)) > 0].tolist()
    if broken:
        yield error(
            "nan-actions",
            f"{len(broken)} episodes have NaN actions before their last row ({some(broken)}). Training would take "
            "them for the mean action: cut these episodes where the actions stop, or leave them out, and import again.",
            episodes=len(broken),
        )
    if taken_at_end:
        yield note(
            "last-action",
            f"{taken_at_end} episodes have an action in their last row, where no observation follows. It is never "
            "used. If an action leads INTO its row in your data, import it with that convention.",
            episodes=taken_at_end,
        )
    if one_hot and taken:
        yield note("actions", f"Column {spec.name!r} is one-hot: the normaliser leaves it alone.")


def _numbers(store: Store, spec: ColumnSpec) -> Iterator[Finding]:
    """Range, constant components and infinities of one array column."""
    width = max(1, int(np.prod(spec.shape)))
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    infinite, missing = 0, 0
    for _, values in store.chunks(spec.name, store.ids):
        rows = values.reshape(len(values), -1).astype(np.float64)
        infinite += int(np.isinf(rows).any(1).sum())
        missing += int(np.isnan(rows).any(1).sum())
        low = np.minimum(low, np.where(np.isfinite(rows), rows, np.inf).min(0))
        high = np.maximum(high, np.where(np.isfinite(rows), rows, -np.inf).max(0))
    here = {"column": spec.name}
    if infinite:
        text = f"Column {spec.name!r} has infinities in {infinite} rows. Repair the source and import again."
        yield error("infinite", text, rows=infinite, **here)
    if missing and spec.role == "proprio":
        text = f"Column {spec.name!r} has NaN in {missing} rows, and a model may read it. Fill the gaps, import again."
        yield error("nan-proprio", text, rows=missing, **here)
    if not (low <= high).all():
        yield warning("range", f"Column {spec.name!r} ({spec.role}) has components without any number.", **here)
        return
    text = f"Column {spec.name!r} ({spec.role}) ranges over {_ranges(low, high)}."
    yield note("range", text, low=low.tolist(), high=high.tolist(), **here)
    constant = np.flatnonzero(high - low < CONSTANT_STD).tolist()
    if constant:
        say = warning if spec.role in ("action", "proprio") else note
        text = (
            f"Column {spec.name!r} never changes in component {', '.join(map(str, constant))}: it is centred but not "
            "scaled. Leave the component out if it carries nothing."
        )
        yield say("constant", text, components=constant, **here)


def _pictures(store: Store, spec: ColumnSpec, sample: NDArray[np.int64]) -> Iterator[Finding]:
    """Frames that repeat the one before, and frames of a single colour."""
    column = spec if spec.kind == "frames" else store.column(str(spec.draws_from))
    pairs, still, flat, frozen = 0, 0, 0, list[int]()
    for episode in map(int, sample):
        rows = store.read_rows(column.name, store.row_numbers(episode))
        rows = rows.reshape(len(rows), -1)
        same = np.asarray(np.all(rows[1:] == rows[:-1], axis=1), np.bool_)
        pairs, still = pairs + len(same), still + int(same.sum())
        frozen += [episode] if len(same) and same.all() else []
        if spec.kind == "frames":
            colours = rows.reshape(len(rows), -1, 3)
            flat += int(np.all(colours == colours[:, :1], axis=(1, 2)).sum())
    share = still / max(pairs, 1)
    facts = {"camera": spec.camera, "share_repeated": share, "frozen_episodes": len(frozen), "looked_at": len(sample)}
    text = f"Camera {spec.camera!r}: {share:.1%} of the frames in {len(sample)} episodes repeat the one before"
    if frozen:
        text += f", and {len(frozen)} episodes are frozen throughout ({some(frozen)}). Check the recording, drop them."
        yield (error if len(frozen) == len(sample) else warning)("frozen-frames", text, **facts)
    elif share > 0.5:
        yield warning("frozen-frames", text + ". Check the camera's rate against the actions'.", **facts)
    else:
        yield note("frozen-frames", text + ".", **facts)
    if flat:
        yield warning(
            "flat-frames",
            f"Camera {spec.camera!r}: {flat} frames have a single colour. Check the recording.",
            camera=spec.camera,
            frames=flat,
        )


def _integrity(store: Store, sample: NDArray[np.int64]) -> Iterator[Finding]:
    """Whether the bytes are still those that were written."""
    changed: list[int] = []
    for episode in map(int, sample):
        try:
            columns = store.episode(episode).columns
        except DataError as problem:
            yield error("damaged", str(problem))
            return
        if {name: checksum(rows) for name, rows in columns.items()} != dict(store.entries[episode].checksums):
            changed.append(episode)
    if changed:
        yield error(
            "damaged",
            f"{len(changed)} of {len(sample)} episodes are not what was written ({some(changed)}): their checksums "
            "differ. Copy the folder again from its source, or collect it again.",
            episodes=changed,
        )
    else:
        yield note("checksums", f"{len(sample)} of {len(store)} episodes read back as they were written.")


def _spread(ids: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """At most `count` of the ids, evenly spread, first and last included."""
    return ids if len(ids) <= count else ids[np.linspace(0, len(ids) - 1, count).astype(np.int64)]


def _ranges(low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    shown = [f"[{a:.4g}, {b:.4g}]" for a, b in zip(low[:8], high[:8], strict=True)]
    return ", ".join(shown) + (f" and {len(low) - 8} more components" if len(low) > 8 else "")
