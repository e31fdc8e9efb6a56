"""MCP registries: lists of `server.json`, which say what a server is for and how it is started or reached.

A registry lists every version of a server. Versions that it marks as older ones, and deleted servers, are
skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest.entries import (
    BadEntry,
    Converted,
    PathSource,
    as_text,
    convert_entry,
    read_decoded,
    read_records,
)
from kitpick_ingest.errors import SourceError
from kitpick_ingest.json_files import Entry, within
from kitpick_ingest.json_values import as_object, as_string
from kitpick_ingest.kinds import SERVER
from kitpick_ingest.source import Source

OFFICIAL = "io.modelcontextprotocol.registry/official"
"""What the registry itself says of an entry, in its `_meta`."""
MAX_PAGES = 5_000
Fetch = Callable[[str, Callable[[Path], Source]], Source]
"""A source of the file behind a URL, read by the source that the function opens."""


class _Listing(msgspec.Struct):
    """A page of a registry's answer, or its dump."""

    servers: list[msgspec.Raw] | None = None
    metadata: Any = None
    server: msgspec.Raw = msgspec.Raw()
    meta: Any = msgspec.field(default=None, name="_meta")


class McpRegistrySource(PathSource):
    """Servers of a file: an answer of a registry, a list or lines of `server.json`, or one alone."""

    usual_name = "registry"
    cursor = ""
    """Where the next page begins, once this one was read; empty after the last one."""

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the file."""
        yield from read_records(self.name, self.path, _Listing, self._page)

    def _page(self, entry: Entry, listing: _Listing) -> Iterator[Converted]:
        metadata = as_object(listing.metadata)
        self.cursor = as_string(metadata.get("nextCursor") or metadata.get("next_cursor"))
        if listing.servers is None:
            yield from self._server(entry, listing)
            return
        for index, raw in enumerate(listing.servers):
            server = Entry(within(entry.position, "servers", index), bytes(raw))
            yield from read_decoded(self.name, server, _Listing, self._server)

    def _server(self, entry: Entry, wrapped: _Listing) -> Iterator[Converted]:
        inner = bytes(wrapped.server)
        if inner:
            entry = Entry(within(entry.position, "server"), inner)
        said = as_object(as_object(wrapped.meta).get(OFFICIAL))
        if said.get("isLatest") is not False and said.get("status") != "deleted":
            yield convert_entry(self.name, entry, lambda one: self._document(one, said))

    def _document(self, entry: Entry, said: dict[str, Any]) -> ApiDocument:
        server = as_object(msgspec.json.decode(entry.raw))
        name = as_string(server.get("name"))
        if not name:
            raise BadEntry("a server without a name")
        group, _, last = name.rpartition("/")
        title = as_string(server.get("title"))
        return ApiDocument(
            id=document_id(self.name, name),
            source=self.name,
            category=SERVER,
            tool=group or self.name,
            api=title or last,
            description=as_text(server.get("description")),
            version=as_string(server.get("version")),
            deprecated="deprecated" in (said.get("status"), server.get("status")),
            definition=entry.raw.decode(),
        )


@dataclass
class McpRegistryPages:
    """The servers of a registry behind a URL, page by page as its `nextCursor` says."""

    url: str
    name: str
    fetch: Fetch

    def read(self) -> Iterator[Converted]:
        """Documents in the order of the registry.

        Raises:
            SourceError: a page cannot be fetched or read, comes twice, or there are more than `MAX_PAGES`.
        """
        cursors = {""}
        pages: list[McpRegistrySource] = []

        def opened(path: Path) -> McpRegistrySource:
            pages.append(McpRegistrySource(path, self.name))
            return pages[-1]

        cursor = ""
        while True:
            yield from self.fetch(_with_cursor(self.url, cursor), opened).read()
            cursor = pages[-1].cursor
            if not cursor:
                return
            if cursor in cursors or len(pages) == MAX_PAGES:
                raise SourceError(self.name, "the pages of the registry do not end", "fetch it to a file")
            cursors.add(cursor)


def _with_cursor(url: str, cursor: str) -> str:
    if not cursor:
        return url
    parts = urlsplit(url)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key != "cursor"]
    return urlunsplit(parts._replace(query=urlencode([*query, ("cursor", cursor)])))
