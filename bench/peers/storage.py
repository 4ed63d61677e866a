"""Frames in HDF5, zarr, Lance and video, each read in the fastest way we know of."""

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(".bench") / "data"
BLOCK = 500
"""Rows written at a time."""
KEY_EVERY = 10
"""Video frames from one that stands by itself to the next."""

Read = Callable[[np.ndarray], np.ndarray]
"""Row numbers (b, t) -> frames (b, t, y, x, 3)."""


def write(size: int, kind: str) -> Mapping[str, Any]:
    """Write the shared frames once more, in this format."""
    folder = DATA / f"tworoom-{size}"
    frames = np.load(folder / "frames.npy", mmap_mode="r")
    place = folder / kind
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    began = time.perf_counter()
    WRITERS[kind](frames, json.loads((folder / "lengths.json").read_text()), place)
    size_on_disk = sum(file.stat().st_size for file in place.rglob("*") if file.is_file())
    seconds = (time.perf_counter() - began) / len(frames)
    return {"seconds": seconds, "bytes_per_frame": size_on_disk / len(frames)}


def read(size: int, kind: str, batches: int) -> Mapping[str, Any]:
    """Seconds per window, the best of three passes after one that brings the files into memory."""
    folder = DATA / f"tworoom-{size}"
    rows, frames = np.load(folder / "rows.npy"), np.load(folder / "frames.npy", mmap_mode="r")
    reader = READERS[kind](folder / kind, json.loads((folder / "lengths.json").read_text()))
    if kind != "video":
        assert (reader(rows[0, :2]) == frames[rows[0, :2]]).all(), f"{kind} does not give the frames back"
    rows = rows[:, : rows.shape[1] // (8 if kind in ("video", "zarr") else 1)]  # enough of the slow ones
    passes: list[float] = []
    for _ in range(4):
        began = time.perf_counter()
        for batch in rows:
            reader(batch)
        passes.append(time.perf_counter() - began)
    files = sum(file.stat().st_size for file in (folder / kind).rglob("*") if file.is_file())
    return {"seconds": min(passes[1:]) / rows[..., 0].size, "bytes_per_frame": files / len(frames)}


def _blocks(frames: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    for begin in range(0, len(frames), BLOCK):
        rows = slice(begin, min(begin + BLOCK, len(frames)))
        yield rows, np.ascontiguousarray(frames[rows])


def _write_hdf5(frames: np.ndarray, lengths: list[int], place: Path) -> None:
    import h5py
    import hdf5plugin

    with h5py.File(place / "frames.h5", "w") as file:
        data = file.create_dataset("frames", frames.shape, "u1", chunks=(1, *frames.shape[1:]), **hdf5plugin.LZ4())
        for rows, block in _blocks(frames):
            data[rows] = block


def _read_hdf5(place: Path, lengths: list[int]) -> Read:
    import h5py
    import hdf5plugin

    assert hdf5plugin.LZ4  # it registers the filter by being imported
    data = h5py.File(place / "frames.h5", "r")["frames"]

    def reader(rows: np.ndarray) -> np.ndarray:
        out = np.empty((rows.size, *data.shape[1:]), np.uint8)
        for place_of, row in enumerate(rows.ravel()):
            data.read_direct(out, np.s_[int(row)], np.s_[place_of])
        return out.reshape(*rows.shape, *data.shape[1:])

    return reader


def _write_zarr(frames: np.ndarray, lengths: list[int], place: Path) -> None:
    import zarr
    from zarr.codecs import ZstdCodec

    chunk, shard = (1, *frames.shape[1:]), (200, *frames.shape[1:])
    data = zarr.create_array(
        place / "frames.zarr",
        shape=frames.shape,
        dtype="u1",
        chunks=chunk,
        shards=shard,
        compressors=ZstdCodec(level=1),
    )
    for begin in range(0, len(frames), 200):
        data[begin : begin + 200] = frames[begin : begin + 200]


def _read_zarr(place: Path, lengths: list[int]) -> Read:
    import zarr

    data = zarr.open_array(place / "frames.zarr", mode="r")
    return lambda rows: np.stack([data[int(w[0]) : int(w[-1]) + 1][w - w[0]] for w in rows])


def _write_lance(frames: np.ndarray, lengths: list[int], place: Path) -> None:
    import lance
    import pyarrow as pa

    size = int(np.prod(frames.shape[1:]))
    schema = pa.schema([("frame", pa.binary(size))])

    def batches() -> Iterator[pa.RecordBatch]:
        for _, block in _blocks(frames):
            column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(block), [None, pa.py_buffer(block)])
            yield pa.record_batch([column], schema=schema)

    lance.write_dataset(batches(), place / "frames.lance", schema=schema)
    (place / "shape.json").write_text(json.dumps(frames.shape[1:]))


def _read_lance(place: Path, lengths: list[int]) -> Read:
    import lance

    data, shape = lance.dataset(place / "frames.lance"), json.loads((place / "shape.json").read_text())

    def reader(rows: np.ndarray) -> np.ndarray:
        # Sorted and distinct, as it likes its row numbers best.
        distinct, back = np.unique(rows, return_inverse=True)
        column = data.take(distinct, columns=["frame"]).column("frame").combine_chunks()
        flat = np.frombuffer(column.buffers()[1], np.uint8)[: len(distinct) * int(np.prod(shape))]
        return flat.reshape(-1, *shape)[back.reshape(rows.shape)]

    return reader


def _write_video(frames: np.ndarray, lengths: list[int], place: Path) -> None:
    import av

    begin = 0
    for number, length in enumerate(lengths):
        with av.open(str(place / f"{number}.mp4"), "w") as file:
            stream = file.add_stream("libx264", rate=10, options={"crf": "18", "preset": "fast", "bf": "0"})
            stream.height, stream.width = frames.shape[1:3]
            stream.pix_fmt, stream.gop_size = "yuv444p", KEY_EVERY
            for frame in frames[begin : begin + length]:
                file.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
            file.mux(stream.encode())
        begin += length


def _read_video(place: Path, lengths: list[int]) -> Read:
    import av

    first = np.cumsum([0, *lengths])
    opened: dict[int, Any] = {}

    def window(rows: np.ndarray) -> np.ndarray:
        number = int(np.searchsorted(first, rows[0], "right")) - 1
        if number not in opened:
            opened[number] = av.open(str(place / f"{number}.mp4"))
        stream = opened[number].streams.video[0]
        wanted, found = (rows - first[number]).tolist(), dict[int, np.ndarray]()
        ticks = 1 / (stream.average_rate * stream.time_base)
        opened[number].seek(int(wanted[0] * ticks), stream=stream)
        for frame in opened[number].decode(stream):
            index = round(frame.pts / ticks)
            if index in wanted:
                found[index] = frame.to_ndarray(format="rgb24")
            if index >= wanted[-1]:
                break
        return np.stack([found[index] for index in wanted])

    return lambda rows: np.stack([window(one) for one in rows])


WRITERS = {"hdf5": _write_hdf5, "zarr": _write_zarr, "lance": _write_lance, "video": _write_video}
READERS = {"hdf5": _read_hdf5, "zarr": _read_zarr, "lance": _read_lance, "video": _read_video}
