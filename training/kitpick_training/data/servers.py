"""MCP servers of Toucan with all their tools."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kitpick_engines.document import ApiDocument, document_id
from kitpick_evaluation.datasets.records import read_records
from kitpick_ingest.entries import convert_entry
from kitpick_ingest.json_files import Entry
from kitpick_ingest.sources.mcp_tools import McpServer, tool_document

LICENCE = "MIT"


def read_toucan(path: Path, source: str = "toucan") -> tuple[ApiDocument, ...]:
    """The tools of every server in `servers.jsonl.gz`, as our own reader of MCP listings takes them.

    Servers of one name are one tool of ours. A name that such servers have twice gets a number in its id, so
    that every listed tool is a document. Tools that ingest would refuse are left out.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    found = []
    times: Counter[str] = Counter()
    for number, record in enumerate(read_records(path), start=1):
        server = McpServer(source, record["server"], record["label"])
        for place, tool in enumerate(record["tools"]):
            entry = Entry(f"{path.name}:{number}#/tools/{place}", msgspec.json.encode(_with_schema(tool)))
            document = convert_entry(source, entry, partial(tool_document, server=server))
            if isinstance(document, ApiDocument):
                times[document.id] += 1
                found.append(replace(document, id=_numbered(document, times[document.id]), definition=""))
    return tuple(found)


def _with_schema(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool as a server lists it. Half of them come from web pages, with a list of fields as their schema.

    Such a list often begins with the tool's own name, which is no field of it.
    """
    fields = tool["inputSchema"]
    if not isinstance(fields, list):
        return tool
    own = [field for field in fields if field["name"] != tool["name"]]
    schema = {
        "type": "object",
        "properties": {field["name"]: {"type": field["type"]} for field in own},
        "required": [field["name"] for field in own if field["required"]],
    }
    return {**tool, "inputSchema": schema}


def _numbered(document: ApiDocument, time: int) -> str:
    return document.id if time == 1 else document_id(document.source, document.tool, document.api, str(time))
