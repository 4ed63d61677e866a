"""How one stored frame becomes bytes and back. A codec is a name in a column's specification.

Adding one is one line in `CODECS`; nothing else knows what a codec does.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Codec:
    """A lossless pair: `decode(encode(x), len(x)) == x`."""

    encode: Callable[[memoryview], bytes]
    decode: Callable[[memoryview, int], bytes]
    """Takes the stored bytes and the number of bytes to expect; a damaged blob is a ValueError."""


def _zlib_encode(frame: memoryview) -> bytes:
    return zlib.compress(frame, 1)


def _zlib_decode(blob: memoryview, size: int) -> bytes:
    try:
        return zlib.decompress(blob, bufsize=size)
    except zlib.error as problem:
        raise ValueError(str(problem)) from problem


CODECS = {"zlib": Codec(_zlib_encode, _zlib_decode)}
"""Codecs by name; a column whose codec is None or "raw" stores its frames as they are."""


def codec_of(name: str | None) -> Codec | None:
    """The codec of that name; None for columns stored as they are."""
    return None if name in (None, "raw") else CODECS[name]
