"""Four sets of requests in people's own order of ideas, to choose models and profiles on: never to train on.

`music`: a music service (RestBench), `functions`: nested calls (NESTFUL), `models`: models as tools, `steps`:
the steps of a calculation (two subsets of ToolRet). They lie in the folder `validation` of the data.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_evaluation.datasets.toolret import read_tool
from kitpick_ingest.sources.openapi import METHODS, OpenApiSource
from kitpick_training.data.records import LabelledCatalog, LabelledRequest, MissingData

_FUNCTIONS = ("executable", "non-executable-glaive", "non-executable-sgd")
_LAST = "var_result"
"""Names what a nested call answers, in place of a function."""
_INPUTS = ("query_parameters", "path_parameters", "arguments")


def read_music(folder: Path) -> LabelledCatalog:
    """Operations of a music service, and requests that take one or several of them.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    specification = folder / "spotify_oas.json"
    names = _operations(_json(specification))
    found = [item for item in OpenApiSource(specification, "music").read() if isinstance(item, ApiDocument)]
    by_name = {document.api: document for document in found}
    documents = {call: by_name[name] for call, name in names.items() if name in by_name}
    requests = [(each["query"], each["solution"]) for each in _json(folder / "spotify.json")]
    return _catalog("music", documents, requests)


def _operations(specification: Mapping[str, Any]) -> dict[str, str]:
    """`GET /me` → the name of the operation."""
    return {
        f"{method.upper()} {path}": operations[method]["operationId"]
        for path, operations in specification["paths"].items()
        for method in METHODS
        if method in operations
    }


def read_functions(folder: Path) -> LabelledCatalog:
    """Functions of three collections, and requests that call several, one in another.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the files cannot be read or do not fit together.
    """
    place = folder / "nestful"
    specifications = [each for name in _FUNCTIONS for each in _json(place / f"{name}-spec.json")]
    documents = {each["name"]: _function(each) for each in specifications}
    requests = [
        (each["input"], [call["name"] for call in each["output"] if call["name"] != _LAST])
        for name in _FUNCTIONS
        for each in _json(place / f"{name}-data.json")
    ]
    return _catalog("functions", documents, requests)


def _function(record: Mapping[str, Any]) -> ApiDocument:
    name = record["name"]
    inputs = [item for key in _INPUTS for item in (record.get(key) or {}).items()]
    return ApiDocument(
        id=document_id("functions", name),
        source="functions",
        category="",
        tool=name.partition(".")[0],
        api=name,
        description=record["description"],
        parameters=tuple(
            Parameter(
                key, str(value.get("type", "")), bool(value.get("required")), value.get("description", "")
            )
            for key, value in inputs
        ),
    )


def read_archive(folder: Path, name: str, file: str) -> LabelledCatalog:
    """A subset of ToolRet: an archive of `tools.json` and `queries.json`.

    Raises:
        MissingData, BrokenRecord, UnknownDocument: the archive cannot be read or does not fit together.
    """
    path = folder / file
    if not path.is_file():
        raise MissingData(path)
    with tarfile.open(path) as archive:
        tools, queries = (_member(archive, each) for each in ("tools.json", "queries.json"))
    documents = {tool["id"]: read_tool(name, tool["id"], tool["documentation"]) for tool in tools}
    requests = [(query["query"], [label["id"] for label in query["labels"]]) for query in queries]
    return _catalog(name, documents, requests)


def _member(archive: tarfile.TarFile, name: str) -> Any:  # noqa: ANN401
    held = archive.extractfile(name)
    return json.loads(held.read() if held else "[]")


def _json(path: Path) -> Any:  # noqa: ANN401
    if not path.is_file():
        raise MissingData(path)
    return json.loads(path.read_bytes())


def _catalog(
    name: str, documents: Mapping[str, ApiDocument], asked: Iterable[tuple[str, Iterable[str]]]
) -> LabelledCatalog:
    """The catalog with the requests all of whose answers it has."""
    requests = tuple(_asked(documents, asked))
    groups = dict.fromkeys(documents, name)
    titles = {key: f"{document.api} {document.description}" for key, document in documents.items()}
    return LabelledCatalog(name, "evaluation only", dict(documents), groups, titles, requests)


def _asked(
    documents: Mapping[str, ApiDocument], asked: Iterable[tuple[str, Iterable[str]]]
) -> Iterator[LabelledRequest]:
    for text, wanted in asked:
        right = tuple(dict.fromkeys(wanted))
        if right and documents.keys() >= set(right):
            yield LabelledRequest(text, right)
