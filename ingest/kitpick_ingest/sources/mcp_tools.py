"""Converts a tool of `tools/list` to a document, from a saved answer or a live server."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from kitpick_engines.document import ApiDocument, document_id
from kitpick_foundation.decoding import decode_as
from kitpick_ingest.chains import with_chains
from kitpick_ingest.declared import declared
from kitpick_ingest.effects import effect_of_hints
from kitpick_ingest.entries import as_text
from kitpick_ingest.json_files import Entry
from kitpick_ingest.json_schema import parameters, schema_fields
from kitpick_ingest.prose import MAX_RETURNS

Hint = TypeVar("Hint", bool, str)
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


class _McpTool(msgspec.Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any]
    title: Any = None
    description: Any = ""
    output_schema: Any = None
    annotations: Any = None
    """Hints; one that is not as the protocol says is as good as none."""
    meta: Any = msgspec.field(default=None, name="_meta")

    def hint(self, name: str, kind: type[Hint]) -> Hint | None:
        """A hint of this type, None where there is none."""
        found = self.annotations.get(name) if isinstance(self.annotations, dict) else None
        return found if isinstance(found, kind) else None


def tool_document(entry: Entry, server: McpServer) -> ApiDocument:
    """The document of one listed tool.

    Raises:
        msgspec.DecodeError: not a tool of the MCP schema.
    """
    tool = decode_as(entry.raw, _McpTool)
    title = tool.title if isinstance(tool.title, str) else None
    meta = tool.meta if isinstance(tool.meta, dict) else {}
    document = ApiDocument(
        id=document_id(server.source, server.tool, tool.name),
        source=server.source,
        category=server.category,
        tool=server.tool,
        api=tool.name,
        description=as_text(tool.description) or title or tool.hint("title", str) or "",
        parameters=parameters(tool.input_schema),
        returns=as_text(tool.output_schema)[:MAX_RETURNS],
        version=server.version,
        effect=effect_of_hints(tool.hint("readOnlyHint", bool), tool.hint("destructiveHint", bool)),
        definition=entry.raw.decode(),
        about=server.about,
    )
    answer = schema_fields(tool.output_schema) if isinstance(tool.output_schema, dict) else None
    return with_chains(document, answer, declared=declared(meta.get(_DEPENDS_ON)))
