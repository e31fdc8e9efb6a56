"""Reads a source and enforces its contract: errors, a time limit, and ids that begin with its name.

A source that may hang is read in a separate thread, and abandoned if nothing comes for too long.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from kitpick_engines.document import ApiDocument, escape_part
from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import IngestError, SourceError
from kitpick_ingest.source import DeadLetter, Source


def read_source(source: Source, timeout: float | None = None) -> Iterator[Converted]:
    """Documents and dead letters of a source, each document owned by it.

    Args:
        source: what to read.
        timeout: seconds that it may take to yield the next item; None waits for ever.

    Raises:
        SourceError: the source failed, whatever it raised; hangs; or yields what is not its own.
    """
    items = _named_errors(source)
    for item in items if timeout is None else impatient(items, timeout, source.name):
        if isinstance(item, ApiDocument):
            _check_owner(item, source.name)
        elif not isinstance(item, DeadLetter):
            raise SourceError(source.name, f"yielded a {type(item).__name__} instead of a document")
        yield item


def _named_errors(source: Source) -> Iterator[Converted]:
    """Turns every error into one that says that the source could not be read to its end."""
    try:
        yield from source.read()
    except (IngestError, MissingExtra):
        raise
    except Exception as error:
        what = f"stopped with {type(error).__name__}: {error}"
        raise SourceError(source.name, what, "nothing was changed") from error


def _check_owner(document: ApiDocument, owner: str) -> None:
    """Checks that an id begins with the name of its source, so that no source overwrites another's."""
    if document.source != owner:
        raise SourceError(
            owner, f"yielded document {document.id[:200]!r} of source {document.source[:200]!r}"
        )
    if not document.id.startswith(escape_part(owner) + "/"):
        what = f"yielded document {document.id[:200]!r}, whose id does not begin with the name of its source"
        raise SourceError(owner, what, "build ids with document_id()")


T = TypeVar("T")

_AHEAD = 64
"""Items read ahead, which bounds the memory they take."""


class _End(NamedTuple):
    error: BaseException | None


class _ReadAhead(Generic[T]):
    """Reads the items of an iterator ahead in a thread, until they end or `stop` is called.

    They are handed over together, as many as there are: a queue would make the two threads take turns over
    every single item, which costs more than many an item takes to read.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._read: list[T | _End] = []
        self._changed = threading.Condition()
        self._unwanted = False
        # A daemon: a source that hangs for good must not keep the process from ending.
        threading.Thread(target=self._run, name="kitpick-source", daemon=True).start()

    def take(self, seconds: float) -> list[T | _End]:
        """The items read since the last call; empty if none arrives within this number of seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._read, seconds)
            taken, self._read = self._read, []
            self._changed.notify()
        return taken

    def stop(self) -> None:
        """Ends the reading."""
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
    """Yields the items, each of which has to arrive within `seconds`.

    Raises:
        SourceError: nothing came in time. The thread that waits for the source is left behind.
    """
    reader = _ReadAhead(items)
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
