"""Counter-based random numbers for training: a number is a hash of what it is for, so nothing has to be stored.

`numpy.random.Philox` draws one stream per key and costs some 10 us per key to set up; a batch needs one stream per
sample. So streams are drawn here for all samples at once: SplitMix64 started at a hash of (key, sample id).
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def hash64(*words: str | int) -> int:
    """64 bits that differ for any two different sequences of words (and for 1 and "1")."""
    text = "\x1f".join(f"{type(word).__name__}:{len(str(word))}:{word}" for word in words)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def permutation(n: int, *words: str | int) -> NDArray[np.int64]:
    """A random order of 0..n-1, a function of the words."""
    return np.random.Generator(np.random.Philox(key=hash64(*words))).permutation(n)


def uniforms(key: int, ids: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Uniform numbers in [0, 1) with 53 random bits, (len(ids), *shape); row i is a function of (key, ids[i])."""
    count = int(np.prod(shape, dtype=np.int64))
    # Unsigned arithmetic wraps, which is what the mixing wants.
    starts = _mix(_mix(ids.astype(np.uint64) * _GOLDEN + np.uint64(key)) ^ np.uint64(key))
    steps = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN
    bits = _mix(starts[:, None] + steps[None, :])
    return ((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(len(ids), *shape)


def normals(key: int, ids: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Standard normal numbers (Box-Muller), (len(ids), *shape); row i is a function of (key, ids[i])."""
    count = int(np.prod(shape, dtype=np.int64))
    half = (count + 1) // 2
    u = uniforms(key, ids, (2, half))
    radius = np.sqrt(-2.0 * np.log1p(-u[:, 0]))
    angle = 2.0 * np.pi * u[:, 1]
    both = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    return both[:, :count].reshape(len(ids), *shape)


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: a bijection that scatters every input bit over all output bits."""
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))
