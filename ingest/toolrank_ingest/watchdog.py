"""Patience with a source: reads it in a thread of its own, and gives up when nothing comes for too long."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from toolrank_ingest.errors import SourceError

T = TypeVar("T")

_AHEAD = 64
"""Items read ahead, which bounds the memory they take."""
_LOOK_UP = 0.2
"""Seconds between two looks at whether anybody still wants the next item."""


class _End(NamedTuple):
    error: BaseException | None


class _Reader(Generic[T]):
    """Puts the items of an iterator into a box until they end or nobody wants them any more."""

    def __init__(self, items: Iterator[T]) -> None:
        self.box: queue.Queue[T | _End] = queue.Queue(maxsize=_AHEAD)
        self.unwanted = threading.Event()
        self._items = items
        # A daemon: a source that hangs for good must not keep the process from ending.
        threading.Thread(target=self._run, name="toolrank-source", daemon=True).start()

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
        while not self.unwanted.is_set():
            try:
                self.box.put(item, timeout=_LOOK_UP)
            except queue.Full:
                continue
            return True
        return False


def impatient(items: Iterator[T], seconds: float, where: str) -> Iterator[T]:
    """The same items, as long as each comes within `seconds` of being asked for.

    Raises:
        SourceError: nothing came in time. The thread that waits for the source is left behind.
    """
    reader = _Reader(items)
    try:
        while True:
            try:
                item = reader.box.get(timeout=seconds)
            except queue.Empty:
                cure = "nothing was changed; is it reachable? otherwise allow it more time"
                raise SourceError(where, f"yielded nothing for {seconds:g} s", cure) from None
            if not isinstance(item, _End):
                yield item
            elif item.error is not None:
                raise item.error
            else:
                return
    finally:
        reader.unwanted.set()
