"""Batches side by side, each on one thread.

A graph of small layers spends more time handing work between threads than it gains; whole batches need no
hand-over, no waiting and no spinning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Workers:
    """Runs a function over items on at most `count` threads. Safe to use from several threads."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count, "toolrank-model") if count > 1 else None

    def map(self, function: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """The answers in the order of the items; a single item never leaves the caller's thread.

        Raises:
            Exception: the first one that `function` raised.
        """
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))
