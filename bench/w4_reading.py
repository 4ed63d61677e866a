"""W4: reading windows of 8 frames at frame skip 5, from our store and from what else frames are kept in."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bench.cases import WORK, Bound, Case, Options, Ratio, Side, Workload
from dualwm.data.collect import collect
from dualwm.data.store import Store
from dualwm.data.windows import Windows
from dualwm.envs.base import episodes, get_world
from dualwm.recipes import tworoom
from dualwm.zoo.training import train

FRAME_SKIP, LOW_STEPS, BATCH = 5, 8, 128
FRAMES, BATCHES = {64: 50_000, 224: 5_000}, {64: 20, 224: 4}
OURS = {"raw": None, "compressed": "zlib"}
PEERS = {
    "hdf5": "HDF5 LZ4, a frame a chunk",
    "zarr": "zarr, a frame a chunk",
    "lance": "Lance",
    "video": "H.264, every 10th frame whole",
}


def cases(options: Options) -> Sequence[Case]:
    """Writing and reading at 64 and 224 px, and how long trainings wait for it."""
    made: list[Case] = []
    for size in FRAMES:
        frames, batches = (600, 1) if options.quick else (FRAMES[size], BATCHES[size])
        made += [_writing(size, frames, batches), _reading(size, batches)]
    steps = 6 if options.quick else 150
    waits = Side(name="ours", call="bench.w4_reading:waiting", args={"steps": steps, "episodes": 40})
    limit = Bound(side="ours", fact="waiting_share", at_most=0.02)
    return [*made, Case(name="laptop training", unit="step", sides=[waits], goals=[limit], repeats=3)]


def _writing(size: int, frames: int, batches: int) -> Case:
    args = {"size": size, "batches": batches, "frames": frames}
    ours = [
        Side(name=f"ours {name}", call="bench.w4_reading:write", args={**args, "codec": codec})
        for name, codec in OURS.items()
    ]
    theirs = [
        Side(name=title, call="bench.peers.storage:write", args={"size": size, "kind": kind}, peer=True)
        for kind, title in PEERS.items()
    ]
    return Case(name=f"{size} px, writing", unit="frame", sides=[*ours, *theirs], repeats=1)


def _reading(size: int, batches: int) -> Case:
    args = {"size": size, "batches": batches}
    ours = [
        Side(name=f"ours {name}", call="bench.w4_reading:read", args={**args, "codec": codec})
        for name, codec in OURS.items()
    ]
    bare = Side(name="bare memmap", call="bench.w4_reading:read_memmap", args=args)
    theirs = [
        Side(name=title, call="bench.peers.storage:read", args={**args, "kind": kind}, peer=True)
        for kind, title in PEERS.items()
    ]
    lz4 = PEERS["hdf5"]
    goals = (
        Ratio(ours="ours raw", other="bare memmap", at_least=0.9),
        Ratio(ours="ours compressed", other=lz4, at_least={64: 2.0, 224: 1.2}[size]),
        Bound(side="ours compressed", fact="bytes_per_frame", over=lz4, at_most=1.2),
    )
    return Case(name=f"{size} px", unit="window", sides=[*ours, bare, *theirs], goals=goals)


def folder(size: int) -> Path:
    """Where the data of one picture size lies."""
    return WORK / "data" / f"tworoom-{size}"


def write(size: int, batches: int, codec: str | None, frames: int) -> Mapping[str, Any]:
    """Record episodes with stored pictures, once raw and once compressed; the raw ones also for everybody else."""
    name = codec or "raw"
    shutil.rmtree(folder(size) / name, ignore_errors=True)
    world = get_world("tworoom")
    began = time.perf_counter()
    store = collect(
        world,
        folder(size) / name,
        record=lambda seeds, cap: episodes(world, seeds, cap),
        episodes=max(4, frames // 100),
        seed=0,
        max_env_steps=200,
        stored_size=size,
        codec=codec,
    )
    seconds = time.perf_counter() - began
    if codec is None:
        _share(store, size, batches)
    return {"seconds": seconds / store.total_rows, "rows": store.total_rows}


def _share(store: Store, size: int, batches: int) -> None:
    """What every other side reads: the frames as one array, the episodes' lengths, and which rows each window takes."""
    windows = _windows(store)
    indices = np.random.default_rng(0).integers(0, len(windows), (batches, BATCH))
    np.save(folder(size) / "indices.npy", indices)
    np.save(folder(size) / "rows.npy", np.stack([windows.frame_rows(batch) for batch in indices]))
    (folder(size) / "lengths.json").write_text(json.dumps(store.rows.tolist()), encoding="utf-8")
    shape = (store.total_rows, size, size, 3)
    out = np.lib.format.open_memmap(folder(size) / "frames.npy", "w+", np.uint8, shape)
    for begin in range(0, len(out), 1000):
        rows = np.arange(begin, min(begin + 1000, len(out)))
        out[rows] = store.read_frames("front", rows)
    out.flush()


def _windows(store: Store) -> Windows:
    return Windows(store, store.ids, frame_skip=FRAME_SKIP, low_steps=LOW_STEPS, cameras=("front",))


def read(size: int, batches: int, codec: str | None) -> Mapping[str, Any]:
    """Our windows, with the actions that training reads beside the frames."""
    store = Store.open(folder(size) / (codec or "raw"))
    windows, indices = _windows(store), np.load(folder(size) / "indices.npy")
    bytes_per_frame = store.bytes / store.total_rows
    return {**timed(windows.read, indices), "bytes_per_frame": bytes_per_frame}


def read_memmap(size: int, batches: int) -> Mapping[str, Any]:
    """The frames alone, indexed out of one mapped array."""
    frames = np.load(folder(size) / "frames.npy", mmap_mode="r")
    bytes_per_frame = frames.nbytes / len(frames)
    return {**timed(lambda rows: frames[rows], np.load(folder(size) / "rows.npy")), "bytes_per_frame": bytes_per_frame}


def timed(work: Callable[[Any], Any], batches: np.ndarray) -> dict[str, float]:
    """Seconds per window, after one reading that brings the files into memory; the best of three passes."""
    passes: list[float] = []
    for _ in range(4):
        began = time.perf_counter()
        for batch in batches:
            work(batch)
        passes.append(time.perf_counter() - began)
    return {"seconds": min(passes[1:]) / (len(batches) * BATCH)}


def waiting(steps: int, episodes: int) -> Mapping[str, Any]:
    """The share of its time that a training of the laptop recipe waits for its data, over a short low stage."""
    recipe = tworoom.laptop()
    short = replace(recipe.method.low_stage, steps=steps, log_every_steps=steps // 3, heldout_every_steps=10 * steps)
    method = replace(recipe.method, low_stage=short, high_stage=replace(recipe.method.high_stage, steps=0))
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        train(replace(recipe, episodes=episodes, method=method), out / "run", out / "data")
        lines = [json.loads(line) for line in (out / "run" / "metrics.jsonl").read_text("utf-8").splitlines()]
    told = [line for line in lines if line["kind"] == "train" and line["stage"] == "low"][1:]
    pace = float(np.median([line["windows_per_s"] for line in told]))
    shares = [line["waiting_share"] for line in told]
    return {"seconds": short.batch_size / pace, "waiting_share": float(np.mean(shares))}


WORKLOAD = Workload(
    name="W4",
    title="Reading windows",
    cases=cases,
    notes=(
        "Batches of 128 random windows, 8 frames at frame skip 5, out of files that the system holds in memory, one "
        "thread each. Our windows come with their actions, the others' are frames alone. Pictures of TwoRoom are very "
        "compressible; bytes per frame hold for them. `laptop training` is the share of a training's time in which it "
        "waits for data."
    ),
)
