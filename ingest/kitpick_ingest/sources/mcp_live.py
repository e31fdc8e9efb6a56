"""The tools of a live MCP server over stdio or streamable HTTP, with the changes that it announces."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.entries import Converted, documents
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.sources.mcp_endpoint import Listing, LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_tools import McpServer, about, tool_document

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport

_POLL_SECONDS = 0.1
_NO_ENDPOINT = frozenset({400, 404, 405, 406, 415, 501})
"""Statuses of HTTP with which a server answers at an address that is none of MCP."""


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
        """Documents in the server's order."""
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

        from kitpick_ingest.sources.mcp_changes import follow

        listings: queue.Queue[Listing] = queue.Queue()
        output = ServerOutput()
        with start_blocking_portal() as portal:
            watch = portal.start_task_soon(follow, self._endpoint, self._settings, output, listings.put)
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
                raise self._failure(error, output) from error

    def _fetch(self) -> Listing:
        """Runs in an event loop of a separate thread, so that the caller's own loop does not matter."""
        from anyio.from_thread import start_blocking_portal

        from kitpick_ingest.sources.mcp_listing import fetch

        output = ServerOutput()
        with start_blocking_portal() as portal:
            try:
                return portal.call(fetch, self._endpoint, self._settings, output, self._sockets)
            except (
                Exception
            ) as error:  # whatever fails in a foreign process or on the way is the source's failure
                raise self._failure(error, output) from error

    def _snapshot(self, listing: Listing) -> Source:
        return ListedTools(self.name, self._endpoint.where, listing)

    def _failure(self, error: BaseException, output: ServerOutput) -> SourceError:
        from kitpick_ingest.sources.mcp_session import failure_reason

        reason = failure_reason(error, self._settings, output)
        no_endpoint = output.status in _NO_ENDPOINT or "Unexpected content type" in reason
        cure = "is it a file? Then write its kind before it, such as openapi:URL" if no_endpoint else ""
        return SourceError(self._endpoint.where, reason, cure)


@dataclass
class ListedTools:
    """A complete listing as a source."""

    name: str
    where: str
    listing: Listing

    def read(self) -> Iterator[Converted]:
        """Documents in the server's order; dead letters for what is no tool, and for parts that failed."""
        listing = self.listing
        server = McpServer(
            self.name, listing.server or self.name, version=listing.version, about=about(listing.instructions)
        )
        entries = (
            Entry(within(self.where, "tools", index), tool) for index, tool in enumerate(listing.tools)
        )
        yield from documents(self.name, entries, lambda entry: tool_document(entry, server))
        for part in listing.failed:
            yield DeadLetter(self.name, within(self.where, part.method), part.reason)


def _latest(listings: queue.Queue[Listing]) -> Listing | None:
    """The newest of the listings that have arrived, None where none comes in a moment."""
    newest = None
    with suppress(queue.Empty):
        newest = listings.get(timeout=_POLL_SECONDS)
        while True:
            newest = listings.get_nowait()
    return newest
