"""The tools of a live MCP server over stdio or streamable HTTP, with the changes that it announces."""

from __future__ import annotations

import json
import queue
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, TextIO

from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.entries import Converted, documents
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.source import Source
from kitpick_ingest.sources.mcp_endpoint import Listing, LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_tools import McpServer, about, tool_document

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

_POLL_SECONDS = 0.1
_MAX_COMPLAINT = 300


class McpLiveSource:
    """Tools of a running server, or of one that is started for the purpose.

    A listing is complete before its first document comes out: a server that dies, hangs or goes round in
    circles half-way yields a `SourceError` and nothing else. The definition of a tool is its JSON as the
    server sent it, with every field in its order, written compactly.
    """

    def __init__(
        self,
        target: str,
        name: str = "mcp",
        settings: LiveSettings | None = None,
        sockets: AsyncBaseTransport | None = None,
    ) -> None:
        """Takes a URL, or `stdio:COMMAND ARGUMENT …`. `sockets` carries what is read from a URL.

        Raises:
            UnknownSource: neither of them.
            MissingExtra: the package `mcp` is not installed.
        """
        if find_spec("mcp") is None:
            raise MissingExtra("mcp", "reading a live MCP server")
        self.name = name
        self._endpoint = McpEndpoint.parse(target)
        self._settings = settings or LiveSettings()
        self._sockets = sockets

    def read(self) -> Iterator[Converted]:
        """Documents in the server's order.

        Raises:
            SourceError: the server cannot be reached, fails, or exceeds a limit.
        """
        yield from self._snapshot(self._fetch()).read()

    def watch(self, on_change: Callable[[Source], None], stop: threading.Event | None = None) -> None:
        """Calls back with the server's tools when listening has begun, and after every announced change.

        The first call closes the gap between an earlier reading and the beginning of the watch. Changes that
        come during a call are answered by one more call. Returns when `stop` is set or the server ends the
        watch; what the callback raises passes through.

        Raises:
            SourceError: the server cannot be reached, fails, or does not announce changes.
        """
        from anyio.from_thread import start_blocking_portal

        from kitpick_ingest.sources.mcp_session import follow

        listings: queue.Queue[Listing] = queue.Queue()
        with complaints() as errors, start_blocking_portal() as portal:
            watch = portal.start_task_soon(follow, self._endpoint, self._settings, errors, listings.put)
            try:
                while not (stop and stop.is_set()):
                    finished = watch.done()
                    if (listing := _latest(listings)) is not None:
                        on_change(self._snapshot(listing))
                    elif finished:
                        break
            finally:
                watch.cancel()
            if not watch.cancelled() and (error := watch.exception()) is not None:
                raise self._failure(error, errors) from error

    def _fetch(self) -> Listing:
        """Runs in an event loop of a separate thread, so that the caller's own loop does not matter."""
        from anyio.from_thread import start_blocking_portal

        from kitpick_ingest.sources.mcp_session import fetch

        with complaints() as errors, start_blocking_portal() as portal:
            try:
                return portal.call(fetch, self._endpoint, self._settings, errors, self._sockets)
            except (
                Exception
            ) as error:  # whatever fails in a foreign process or on the way is the source's failure
                raise self._failure(error, errors) from error

    def _snapshot(self, listing: Listing) -> Source:
        return ListedTools(self.name, self._endpoint.where, listing)

    def _failure(self, error: BaseException, errors: TextIO) -> SourceError:
        from kitpick_ingest.sources.mcp_session import failure_reason

        complaint = _last_line(errors)
        what = failure_reason(error, self._settings) + (f"; it wrote: {complaint}" if complaint else "")
        return SourceError(self._endpoint.where, what)


class ListedTools:
    """A complete listing as a source."""

    def __init__(self, name: str, where: str, listing: Listing) -> None:
        self.name = name
        self._where = where
        self._listing = listing

    def read(self) -> Iterator[Converted]:
        """Documents in the server's order. An entry that is not a tool of MCP becomes a dead letter."""
        listing = self._listing
        server = McpServer(
            self.name, listing.server or self.name, version=listing.version, about=about(listing.instructions)
        )
        yield from documents(self.name, self._entries(), lambda entry: tool_document(entry, server))

    def _entries(self) -> Iterator[Entry]:
        for index, tool in enumerate(self._listing.tools):
            text = json.dumps(tool, ensure_ascii=False, separators=(",", ":"))
            yield Entry(within(self._where, "tools", index), text.encode("utf-8", "surrogatepass"))


def complaints() -> TextIO:
    """The target of a started server's standard error: never a terminal that is used otherwise."""
    return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")


def _last_line(errors: TextIO) -> str:
    errors.seek(0)
    lines = [line.strip() for line in errors if line.strip()]
    return lines[-1][:_MAX_COMPLAINT] if lines else ""


def _latest(listings: queue.Queue[Listing]) -> Listing | None:
    """The newest of the listings that have arrived, None where none comes in a moment."""
    newest = None
    with suppress(queue.Empty):
        newest = listings.get(timeout=_POLL_SECONDS)
        while True:
            newest = listings.get_nowait()
    return newest
