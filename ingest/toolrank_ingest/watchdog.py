"""Patience with a source: reads it in a thread of its own, and gives up when nothing comes for too long."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from toolrank_ingest.errors import SourceError

T = TypeVar("T")

_AHEAD = 64
"""Items read ahead, which bounds the memory they take."""


class _End(NamedTuple):
    error: BaseException | None


class _Reader(Generic[T]):
    """Collects the items of an iterator until they end or nobody wants them any more.

    They are handed over together, as many as there are: a queue would make the two threads take turns over
    every single item, which costs more than many an item takes to read.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._read: list[T | _End] = []
        self._changed = threading.Condition()
        self._unwanted = False
        # A daemon: a source that hangs for good must not keep the process from ending.
        threading.Thread(target=self._run, name="toolrank-source", daemon=True).start()

    def take(self, seconds: float) -> list[T | _End]:
        """What was read since the last call, empty when that is nothing for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._read, seconds)
            taken, self._read = self._read, []
            self._changed.notify()
        return taken

    def stop(self) -> None:
        """Nothing more is wanted."""
        with self._changed:
            self._unwanted = True
            self._changed.notify()

    def _run(self) -> None:
        try:
            for item in self._items:
                if not self._offer(item):
                    return
            end = _End(None)
        except BaseException as error:  # noqa: BLE001 - handed to the thread that waits, whatever it is
            end = _End(error)
        self._offer(end)

    def _offer(self, item: T | _End) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: len(self._read) < _AHEAD or self._unwanted)
            self._read.append(item)
            self._changed.notify()
            return not self._unwanted


def impatient(items: Iterator[T], seconds: float, where: str) -> Iterator[T]:
    """The same items, as long as each comes within `seconds` of being asked for.

    Raises:
        SourceError: nothing came in time. The thread that waits for the source is left behind.
    """
    reader = _Reader(items)
    try:
        while True:
            taken = reader.take(seconds)
            if not taken:
                cure = "nothing was changed; is it reachable? otherwise allow it more time"
                raise SourceError(where, f"yielded nothing for {seconds:g} s", cure)
            for item in taken:
                if not isinstance(item, _End):
                    yield item
                elif item.error is not None:
                    raise item.error
                else:
                    return
    finally:
        reader.stop()
