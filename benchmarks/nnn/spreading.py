"""The same for many, on as many threads as there are processors: most of it runs outside the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

from kitpick_models.batching import available_cpus

_T = TypeVar("_T")
_R = TypeVar("_R")


def spread(function: Callable[[_T], _R], items: Iterable[_T]) -> list[_R]:
    """`function` of each item, in their order.

    Raises:
        Exception: whatever it raised first, in that order.
    """
    return list(_threads().map(function, items))


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(available_cpus(), thread_name_prefix="nnn")
