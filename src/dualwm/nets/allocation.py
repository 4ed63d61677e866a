"""Memory that is used again instead of being returned and taken anew."""

import torch

_LARGEST = (32 << 20) - (64 << 10)
"""Bytes just below the largest threshold that glibc sets by itself."""


def reuse_freed_memory() -> None:
    """Let this process keep what it frees, up to some 64 MB.

    By default glibc returns a freed block of 128 KB and more to the system, and its next use faults in every page: a
    fifth to a third of the time of planning. Its threshold rises to the size of a block that was returned (mallopt(3),
    M_MMAP_THRESHOLD), so one large block is taken, never touched, and freed. Elsewhere than on glibc that does nothing.
    """
    torch.empty(_LARGEST, dtype=torch.uint8)
