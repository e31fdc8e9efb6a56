"""Converts a tool of `tools/list` to a document, from a saved answer or a live server."""

from __future__ import annotations

from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_ingest.chains import with_chains
from kitpick_ingest.declared import declared
from kitpick_ingest.effects import effect_of_hints
from kitpick_ingest.entries import as_text
from kitpick_ingest.json_files import Entry
from kitpick_ingest.json_schema import parameters, schema_fields

_MAX_RETURNS = 2_000
_DEPENDS_ON = "kitpick/depends_on"
"""Key of `_meta` under which a tool names the calls that must come before."""
_MAX_ABOUT = 1_500
"""Characters of a server's instructions that each of its tools carries: as many as an index reads."""


class McpServer(msgspec.Struct, frozen=True):
    """Values that the documents of one server share."""

    source: str
    tool: str
    category: str = ""
    version: str = ""
    about: str = ""


def about(instructions: str) -> str:
    """A server's instructions as its tools carry them: without what no index can hold."""
    return instructions.encode("utf-8", "replace").decode().replace("\0", " ").strip()[:_MAX_ABOUT]


class _Annotations(msgspec.Struct, rename="camel"):
    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None


class _McpTool(msgspec.Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any]
    title: str | None = None
    description: Any = ""
    output_schema: Any = None
    annotations: _Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


def tool_document(entry: Entry, server: McpServer) -> ApiDocument:
    """The document of one listed tool.

    Raises:
        msgspec.DecodeError: not a tool of the MCP schema.
    """
    tool = msgspec.json.decode(entry.raw, type=_McpTool)
    hints = tool.annotations or _Annotations()
    document = ApiDocument(
        id=document_id(server.source, server.tool, tool.name),
        source=server.source,
        category=server.category,
        tool=server.tool,
        api=tool.name,
        description=as_text(tool.description) or tool.title or hints.title or "",
        parameters=parameters(tool.input_schema),
        returns=as_text(tool.output_schema)[:_MAX_RETURNS],
        version=server.version,
        effect=effect_of_hints(hints.read_only_hint, hints.destructive_hint),
        definition=entry.raw.decode(),
        about=server.about,
    )
    answer = schema_fields(tool.output_schema) if isinstance(tool.output_schema, dict) else None
    return with_chains(document, answer, declared=declared((tool.meta or {}).get(_DEPENDS_ON)))
