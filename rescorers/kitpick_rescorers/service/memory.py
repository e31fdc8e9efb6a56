"""Settings of the allocator, for a process that runs for weeks."""

from __future__ import annotations

import ctypes
import os
import platform

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's `mallopt`."""
_ARENAS = 2
_LARGE = 128 * 1024
"""glibc's own thresholds at the start; it raises them, up to 32 and 64 MiB, as large blocks are freed."""


def steady_memory() -> bool:
    """Limits the arenas of glibc and has it return large blocks. To be called before threads start.

    By itself it gives threads up to eight arenas a core. Requests are worked on by many threads in turn, so
    each arena grows to the worst it has met, is never emptied, and the process grows for hours. Two arenas
    cost no speed here: models take their tensors from a pool of their own.

    Returns:
        Whether it was: not on other C libraries, nor where `MALLOC_ARENA_MAX` or `GLIBC_TUNABLES` is set.
    """
    if platform.libc_ver()[0] != "glibc" or {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"} & set(os.environ):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    wanted = {_ARENA_MAX: _ARENAS, _MMAP_THRESHOLD: _LARGE, _TRIM_THRESHOLD: _LARGE}
    return all(mallopt(parameter, value) for parameter, value in wanted.items())
