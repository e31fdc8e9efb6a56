"""Sources that say when they change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from toolrank_ingest.errors import SourceError
from toolrank_ingest.source import Source


@runtime_checkable
class WatchableSource(Source, Protocol):
    """A live source that reports its changes."""

    def watch(self, on_change: Callable[[Source], None], stop: threading.Event | None = None) -> None:
        """Calls back with what there is when listening has begun, and after every change, until `stop`.

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
