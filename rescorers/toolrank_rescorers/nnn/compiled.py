"""One source, two speeds: numba compiles the inner loops where it is installed, numpy runs them where not."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

COMPILED = importlib.util.find_spec("numba") is not None and os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
"""Whether numba is there and not switched off. The answers are the same either way."""


def compiled(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compiles on first use, kept on disk between runs. Sums may be taken in any order."""
    if not COMPILED:
        return function
    import numba  # type: ignore[import-not-found, import-untyped, unused-ignore]

    jit = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    return jit(function)  # type: ignore[no-any-return, unused-ignore]


def faster_of(calls: Callable[_P, _R], loops: Callable[_P, _R]) -> Callable[_P, _R]:
    """The same thing said twice: as numpy calls, or as loops for the compiler."""
    return compiled(loops) if COMPILED else calls
