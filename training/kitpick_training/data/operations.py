"""Complete lists of what tools can do, to fill a catalog with operations that no request asks for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_foundation.errors import MissingExtra
from kitpick_ingest.chains import with_chains
from kitpick_ingest.effects import effect_of_method
from kitpick_ingest.entries import convert_entry
from kitpick_ingest.errors import IngestError
from kitpick_ingest.json_files import Entry
from kitpick_ingest.source import Source
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource, installed_documents
from kitpick_ingest.sources.mcp_tools import McpServer, about, tool_document
from kitpick_training.data.records import read_records
from kitpick_training.data.written import Operation, WrittenApi


def full_lists(apis: Iterable[WrittenApi], openapi: Path, source: str) -> Mapping[Operation, ApiDocument]:
    """Every operation of the tools that these operations belong to, and the operations themselves.

    REST operations come from the file, those of AWS and Google out of the packages `botocore` and
    `google-api-python-client`. What is not installed, or not in the version that is, stands as it was written
    down with the requests.

    Args:
        apis: operations of requests; an operation that occurs in several folders counts once.
        openapi: `apis.jsonl.gz` of the OpenAPI directory.
        source: owner of the documents.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    named = {api.operation: api.document(source) for api in apis}
    tools = {operation[:4] for operation in named}
    found = dict(_rest(openapi, tools, source))
    for tool in sorted(tools):
        for operation, document in _installed(*tool):
            found[operation] = replace(document, id=operation.id_in(source), source=source, definition="")
    return {**named, **found}


def _rest(
    path: Path, tools: set[tuple[str, str, str, str]], source: str
) -> Iterator[tuple[Operation, ApiDocument]]:
    if not any(tool[0] == "openapi" for tool in tools):
        return
    for record in read_records(path):
        operation = Operation("openapi", record["provider"], record["service"], record["tool"], record["api"])
        if operation[:4] in tools:
            yield operation, _rest_document(operation, record, source)


def _rest_document(operation: Operation, record: dict[str, Any], source: str) -> ApiDocument:
    document = ApiDocument(
        id=operation.id_in(source),
        source=source,
        category=record["category"],
        tool=record["tool"],
        api=record["api"],
        description=described(record["summary"], record["description"]),
        parameters=tuple(
            Parameter(name=p["name"], required=bool(p["required"]), description=p["description"] or "")
            for p in record["parameters"]
        ),
        tags=tuple(record["tags"]),
        deprecated=bool(record["deprecated"]),
        effect=effect_of_method(record["method"]),
    )
    return with_chains(document, path=record["path"])


def described(summary: str, description: str) -> str:
    """Summary and description as one text, without the summary where the description begins with it."""
    summary, description = summary.strip(), description.strip()
    if not summary or description.lower().startswith(summary.rstrip(".").lower()):
        return description or summary
    return f"{summary.rstrip('.')}. {description}".strip()


def _installed(
    source: str, provider: str, service: str, tool: str
) -> Iterator[tuple[Operation, ApiDocument]]:
    """Operations of a service in an installed package; none where it is not there."""
    try:
        reader = _reader(source, service)
        documents = [] if reader is None else list(reader.read())
    except (IngestError, MissingExtra):
        return
    for document in documents:
        if isinstance(document, ApiDocument):
            yield Operation(source, provider, service, tool, document.api), document


def _reader(source: str, service: str) -> Source | None:
    if source == "botocore":
        return BotocoreSource([service])
    if source == "google":
        return GoogleDiscoverySource(installed_documents() / f"{service}.json")
    return None


def versions(documents: Mapping[Operation, ApiDocument]) -> Mapping[str, frozenset[str]]:
    """For each document's id, those of the same operation in other versions of its service.

    Whoever does not name a version is served as well by any. Google's services alone come in several.
    """
    alike: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for operation, document in documents.items():
        if operation.source == "google":
            alike[operation.group, operation.api].add(document.id)
    return _others(alike.values())


def copies(documents: Iterable[ApiDocument]) -> Mapping[str, frozenset[str]]:
    """For each document's id, those of equal name and description: MCP servers are published many times."""
    alike: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for document in documents:
        if document.description.strip():
            alike[document.api.lower(), " ".join(document.description.lower().split())].add(document.id)
    return _others(alike.values())


def _others(groups: Iterable[set[str]]) -> Mapping[str, frozenset[str]]:
    return {id_: frozenset(group) - {id_} for group in groups if len(group) > 1 for id_ in group}


def read_toucan(path: Path, source: str = "toucan") -> tuple[ApiDocument, ...]:
    """The tools of every server in `servers.jsonl.gz`, as our own reader of MCP listings takes them.

    Servers of one name are one tool of ours. A name that such servers have twice gets a number in its id, so
    that every listed tool is a document. Tools that ingest would refuse are left out.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    return _tools(path, lambda record: McpServer(source, record["server"], record["label"]))


def read_servers_2026(path: Path, source: str) -> tuple[ApiDocument, ...]:
    """The tools of every server in `mcp-servers-2026.jsonl.gz`, with what the server says of itself.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    return _tools(
        path, lambda record: McpServer(source, record["server"], about=about(record["instructions"] or ""))
    )


def _tools(path: Path, server_of: Callable[[dict[str, Any]], McpServer]) -> tuple[ApiDocument, ...]:
    found = []
    times: Counter[str] = Counter()
    for number, record in enumerate(read_records(path), start=1):
        server = server_of(record)
        for place, tool in enumerate(record["tools"]):
            entry = Entry(f"{path.name}:{number}#/tools/{place}", msgspec.json.encode(_with_schema(tool)))
            document = convert_entry(server.source, entry, partial(tool_document, server=server))
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
