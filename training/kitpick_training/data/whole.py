"""Written requests over all that their tools can do, in place of the few operations that were read for them.

A first stage at work proposes the nearest of thousands: the other operations of the service, the same
operation of another version, the tools of other servers that do nearly the same. Lists of these teach what
lists of a few dozen hand-picked operations cannot.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_training.data.operations import copies, full_lists, read_servers_2026, read_toucan, versions
from kitpick_training.data.records import LabelledCatalog, LabelledRequest
from kitpick_training.data.written import (
    MCP,
    Operation,
    WrittenApi,
    WrittenRequest,
    present_folders,
    read_apis,
    read_typed,
    read_written,
)

Known = Callable[[WrittenApi], str | None]
"""The document of an operation; None where the catalog lacks it."""


def read_operations(folders: Iterable[Path], openapi: Path, licence: str) -> LabelledCatalog:
    """Requests of REST APIs and cloud services, over all operations of the tools they name.

    Args:
        folders: written requests.
        openapi: `apis.jsonl.gz` of the OpenAPI directory.
        licence: of requests and operations.

    Raises:
        MissingData, BrokenRecord, InvalidDataset: a file cannot be read, or files do not fit together.
    """
    requests, shown = _read(folders, lambda api: api.source != MCP)
    apis = [api for request in requests for api in (*request.relevant, *request.also)]
    by_operation = full_lists(apis, openapi, "operations")
    ids = {operation: document.id for operation, document in by_operation.items()}
    groups = {document.id: operation.group for operation, document in by_operation.items()}
    documents = {document.id: document for document in by_operation.values()}
    labelled = _labelled(requests, shown, lambda api: ids.get(api.operation), versions(by_operation))
    return LabelledCatalog(
        "operations", licence, documents, groups, titles_of(documents), labelled, judged=False
    )


def read_servers(folders: Iterable[Path], toucan: Path, licence: str) -> LabelledCatalog:
    """Requests of MCP servers, over all tools of all servers.

    Args:
        folders: written requests.
        toucan: `servers.jsonl.gz`.
        licence: of requests and tools.

    Raises:
        MissingData, BrokenRecord, InvalidDataset: a file cannot be read, or files do not fit together.
    """
    requests, shown = _read(folders, lambda api: api.source == MCP)
    found = read_toucan(toucan, "servers")
    documents = {document.id: document for document in found}
    providers = {api.tool: api.operation.group for api in shown}
    groups = {document.id: providers.get(document.tool, document.tool) for document in found}
    labelled = _labelled(requests, shown, known_tool(found), copies(found))
    return LabelledCatalog(
        "servers", licence, documents, groups, titles_of(documents), labelled, judged=False
    )


class ServerRequest(msgspec.Struct, frozen=True):
    """A line of `written-mcp-2026.jsonl.gz`; `relevant` and `also` are pairs of server and tool."""

    request: str
    relevant: tuple[tuple[str, str], ...]
    also: tuple[tuple[str, str], ...]


def read_newest_servers(datasets: Path, licence: str) -> LabelledCatalog:
    """Requests for MCP servers as they were published in November 2026, over all tools of these servers.

    Args:
        datasets: folder with `mcp-servers-2026.jsonl.gz` and `written-mcp-2026.jsonl.gz`.
        licence: of requests and tools.

    Raises:
        MissingData, BrokenRecord: a file cannot be read.
    """
    found = read_servers_2026(datasets / "mcp-servers-2026.jsonl.gz", "servers-2026")
    documents = {document.id: document for document in found}
    ids = {(document.tool, document.api): document.id for document in found}
    alike = copies(found)
    labelled = []
    for each in read_typed(datasets / "written-mcp-2026.jsonl.gz", ServerRequest):
        relevant = tuple(ids[pair] for pair in each.relevant if pair in ids)
        if len(relevant) == len(each.relevant):
            fair = _fair(relevant, (ids[pair] for pair in each.also if pair in ids), alike)
            labelled.append(LabelledRequest(each.request, relevant, also=tuple(sorted(fair))))
    groups = {document.id: document.tool for document in found}
    return LabelledCatalog(
        "servers-2026", licence, documents, groups, titles_of(documents), tuple(labelled), judged=False
    )


def known_tool(documents: Iterable[ApiDocument]) -> Known:
    """Finds the document of a written tool, of several of one name the one with its description."""
    listed: defaultdict[tuple[str, str], list[ApiDocument]] = defaultdict(list)
    for document in documents:
        listed[document.tool, document.api].append(document)

    def known(api: WrittenApi) -> str | None:
        found = listed[api.tool, api.api]
        begin = api.description[:80]
        return next((d.id for d in found if d.description.startswith(begin)), found[0].id if found else None)

    return known


def _read(
    folders: Iterable[Path], wanted: Callable[[WrittenApi], bool]
) -> tuple[list[WrittenRequest], list[WrittenApi]]:
    """The requests all of whose operations are wanted, and the wanted operations that authors were shown."""
    present = present_folders(folders)
    requests = [request for folder in present for request in read_written(folder)]
    shown = [api for folder in present for api in read_apis(folder) if wanted(api)]
    return [request for request in requests if all(map(wanted, request.relevant))], shown


def _labelled(
    requests: Iterable[WrittenRequest],
    shown: Iterable[WrittenApi],
    known: Known,
    alike: Mapping[str, frozenset[str]],
) -> tuple[LabelledRequest, ...]:
    """The requests with ids of documents; those that need what the catalog lacks are left out."""
    of_tool: defaultdict[tuple[str, ...], list[WrittenApi]] = defaultdict(list)
    for api in shown:
        of_tool[_tool(api.operation)].append(api)
    found = []
    for request in requests:
        relevant = tuple(id_ for api in request.relevant if (id_ := known(api)) is not None)
        if len(relevant) < len(request.relevant):
            continue
        named = (id_ for api in request.also if (id_ := known(api)) is not None)
        fair = _fair(relevant, named, alike)
        near = dict.fromkeys(
            id_
            for api in request.relevant
            for other in of_tool[_tool(api.operation)]
            if (id_ := known(other)) is not None
        )
        offered = tuple(id_ for id_ in near if id_ not in relevant and id_ not in fair)
        found.append(LabelledRequest(request.text, relevant, offered, also=tuple(sorted(fair))))
    return tuple(found)


def _fair(relevant: Iterable[str], named: Iterable[str], alike: Mapping[str, frozenset[str]]) -> set[str]:
    """What answers as fairly: those that the author named, and those that are alike to a right one."""
    right = set(relevant)
    return {*named, *(other for id_ in right for other in alike.get(id_, ()))} - right


def _tool(operation: Operation) -> tuple[str, ...]:
    return operation[:4]


def titles_of(documents: Mapping[str, ApiDocument]) -> dict[str, str]:
    """The short text of each document by which two are told to say the same."""
    return {id_: f"{document.api} {document.description}" for id_, document in documents.items()}
