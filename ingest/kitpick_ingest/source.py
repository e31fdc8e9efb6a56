"""The contract of a source: `Source`, `WatchableSource` for live ones, `DeadLetter` and `Remark`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import SourceError

MAX_EXCERPT = 500


class DeadLetter(msgspec.Struct, frozen=True):
    """An entry that was left out, with its place in the source and the reason. The run goes on."""

    source: str
    position: str
    """Where to look: `file.json#/paths/~1users/get`, `tools.jsonl:17`."""
    reason: str
    excerpt: str = ""
    """The beginning of the offending text, at most `MAX_EXCERPT` characters."""


class Remark(DeadLetter, frozen=True):
    """An entry that was skipped because it cannot be called. A note names it, and the exit code stays 0."""


class Source(Protocol):
    """Yields documents in a stable order, one by one, so that a catalog never has to fit into memory."""

    name: str
    """Owner of the documents: a sync of one source never touches another's."""

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Documents, and dead letters for entries that cannot be used.

        Raises:
            SourceError: the source as a whole cannot be read.
        """


@runtime_checkable
class WatchableSource(Source, Protocol):
    """A live source that reports its changes."""

    def watch(self, on_change: Callable[[Source], None], stop: threading.Event | None = None) -> None:
        """Calls back with the source when listening has begun, and after every change, until `stop`.

        Raises:
            SourceError: the source announces no changes, or fails.
        """


def watch_source(
    source: Source, on_change: Callable[[Source], None], stop: threading.Event | None = None
) -> None:
    """Watches a source that can be watched.

    Raises:
        SourceError: it cannot be watched, or fails.
    """
    if not isinstance(source, WatchableSource):
        raise SourceError(source.name, "announces no changes", "read it from time to time")
    source.watch(on_change, stop)
