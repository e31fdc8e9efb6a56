"""Saved answers of MCP servers to `tools/list`: one server, several pages of one, or a registry of many."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import msgspec

from kitpick_foundation.decoding import decode_as
from kitpick_ingest.entries import Converted, FilesSource, convert_entry, dead_letter, read_decoded
from kitpick_ingest.errors import SourceError
from kitpick_ingest.found_files import FoundFile
from kitpick_ingest.json_files import Entry, records, within
from kitpick_ingest.repeated_keys import repeated_in
from kitpick_ingest.sources.mcp_tools import McpServer, about, tool_document

_UNFINISHED = "the last page has a nextCursor, so tools are missing"
Reading = Generator[Converted, None, str]
"""Yields what a record holds and returns the cursor of the page after it, empty where there is none."""


class _SavedPage(msgspec.Struct, rename={"next_cursor": "nextCursor"}):
    tools: list[msgspec.Raw]
    next_cursor: str | None = None
    version: str | None = None
    instructions: Any = None


class _Greeting(msgspec.Struct, rename="camel"):
    """What a server says of itself: its answer to `initialize`, alone or beside its tools."""

    protocol_version: Any = None
    server_info: Any = None
    instructions: Any = None
    tools: msgspec.Raw = msgspec.Raw()

    @property
    def alone(self) -> bool:
        """Whether this is all that the record holds."""
        return not bytes(self.tools) and (self.protocol_version is not None or self.server_info is not None)


class _Record(msgspec.Struct, rename={"input_schema": "inputSchema"}):
    """A record: a tool, a listing, a JSON-RPC answer with a listing, or a registry entry."""

    input_schema: msgspec.Raw = msgspec.Raw()
    tools: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    name: str | None = None
    category: str | None = None
    instructions: Any = None


class McpDumpSource(FilesSource):
    """Tools of saved `tools/list` answers, in one file or a folder of them.

    Understood are a listing (`{"tools": […]}`, alone or as `result` of a JSON-RPC answer, one page a line in
    JSON Lines), an array of tools, and an array of registry entries
    `{"name", "category", "tools": {SERVER: {"version", "tools": […]}}}`. What a server says of itself, its
    `instructions`, is read beside its tools, beside its entry, or in a saved answer to `initialize` that
    stands before them.
    """

    usual_name = "mcp"
    _instructions = _cursor = ""

    def _read_file(self, file: FoundFile) -> Iterator[Converted]:
        self._instructions = self._cursor = ""
        for record in records(file.path):
            self._cursor = ""
            yield from repeated_in(self.name, record)
            yield from read_decoded(self.name, record, _Record, self._read_record)
        if self._cursor:
            raise SourceError(str(file.path), _UNFINISHED, "save every page, one a line")

    def _read_record(self, record: Entry, found: _Record) -> Iterator[Converted]:
        self._cursor = yield from self._dispatch(record, found)

    def _dispatch(self, record: Entry, found: _Record) -> Reading:
        server = McpServer(self.name, self.name, about=self._instructions)
        inner = bytes(found.result) or record.raw
        if not bytes(found.input_schema) and (greeting := decode_as(inner, _Greeting)).alone:
            self._instructions = _about(greeting.instructions)
            return ""
        if bytes(found.result):
            answer = Entry(within(record.position, "result"), inner)
            return (yield from self._listing(answer, server))
        if bytes(found.tools).startswith(b"{"):
            servers = Entry(within(record.position, "tools"), bytes(found.tools))
            return (yield from self._registered(servers, found))
        if bytes(found.tools):
            return (yield from self._listing(record, server))
        if bytes(found.input_schema):
            yield convert_entry(self.name, record, partial(tool_document, server=server))
        else:
            yield dead_letter(self.name, record, "neither a tool with inputSchema nor a list of tools")
        return ""

    def _registered(self, servers: Entry, found: _Record) -> Reading:
        """Servers of one registry entry: the entry's name is the tool where it has a single server."""
        listings = decode_as(servers.raw, dict[str, msgspec.Raw])
        for key, raw in listings.items():
            tool = found.name if found.name and len(listings) == 1 else key
            server = McpServer(self.name, tool, found.category or "", about=_about(found.instructions))
            listing = Entry(within(servers.position, key), bytes(raw))
            if (yield from self._listing(listing, server)):  # no other record goes on with this server
                yield dead_letter(self.name, listing, f"{_UNFINISHED} (save every page of it)")
        return ""

    def _listing(self, listing: Entry, server: McpServer) -> Reading:
        page = decode_as(listing.raw, _SavedPage)
        own = _about(page.instructions) or server.about
        server = msgspec.structs.replace(server, version=page.version or "", about=own)
        for index, raw in enumerate(page.tools):
            entry = Entry(within(listing.position, "tools", index), bytes(raw))
            yield convert_entry(self.name, entry, partial(tool_document, server=server))
        return page.next_cursor or ""


def _about(instructions: object) -> str:
    return about(instructions) if isinstance(instructions, str) else ""
