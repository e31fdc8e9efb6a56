"""Logged requests as judged ones: names become ids of the catalog, equal requests become one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.logs.masking import masked
from toolrank_evaluation.logs.reading import LoggedRequest
from toolrank_ingest.function_names import function_names

MAX_CHARACTERS = 4_000
"""A request longer than this is a document that somebody pasted: cut."""


class Harvest(msgspec.Struct, frozen=True):
    """Judged requests, and what became of the rest."""

    queries: tuple[JudgedQuery, ...]
    read: int
    masked: int
    """Requests in which something was replaced."""
    merged: int
    """Requests that asked what another one had asked."""
    without_tools: int
    """Requests for which nothing was called that the catalog knows."""
    unknown: dict[str, int]
    """Names that the catalog lacks, and how often they were called."""
    ambiguous: dict[str, int]
    """Names that several APIs bear."""


def harvest(logged: Iterable[LoggedRequest], documents: Sequence[ApiDocument]) -> Harvest:
    """Judged requests in the order in which they were first asked.

    The APIs that were called are taken for the relevant ones: what a model called without an error is the
    best that a log knows, and nobody has checked it.
    """
    known = names_of(documents)
    relevant: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    several: Counter[str] = Counter()
    for request in logged:
        text = masked(" ".join(request.text.split())[:MAX_CHARACTERS])
        ids = _resolved(request.tools, known, lacking, several)
        counts["read"] += 1
        counts["masked"] += text != " ".join(request.text.split())[:MAX_CHARACTERS]
        if not text or not ids:
            counts["without_tools"] += 1
            continue
        key = text.casefold().rstrip("?!. ")
        counts["merged"] += key in relevant
        texts.setdefault(key, text)
        relevant.setdefault(key, set()).update(ids)
    return Harvest(
        queries=tuple(
            JudgedQuery(f"log-{number}", texts[key], frozenset(ids))
            for number, (key, ids) in enumerate(relevant.items(), start=1)
        ),
        read=counts["read"],
        masked=counts["masked"],
        merged=counts["merged"],
        without_tools=counts["without_tools"],
        unknown=dict(lacking.most_common()),
        ambiguous=dict(several.most_common()),
    )


def names_of(documents: Sequence[ApiDocument]) -> Mapping[str, frozenset[str]]:
    """Every name by which a log may call an API → the ids that bear it.

    Ids, plain names, `tool.api` and `tool__api` as MCP clients write them, and the function names under which
    this project hands APIs to a model.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for document, function in zip(documents, function_names(documents), strict=True):
        names = {document.id, document.api, function}
        names |= {f"{document.tool}{joint}{document.api}" for joint in (".", "__", "_", "/", "-")}
        for name in names:
            found[name.casefold()].add(document.id)
    return {name: frozenset(ids) for name, ids in found.items()}


def query_lines(queries: Iterable[JudgedQuery]) -> bytes:
    """The requests in the form of `--queries`: one JSON object a line."""
    return b"".join(
        msgspec.json.encode({"id": query.id, "query": query.text, "relevant": sorted(query.relevant)}) + b"\n"
        for query in queries
    )


def _resolved(
    tools: Sequence[str], known: Mapping[str, frozenset[str]], lacking: Counter[str], several: Counter[str]
) -> set[str]:
    found: set[str] = set()
    for tool in tools:
        ids = known.get(tool.casefold(), frozenset())
        if not ids:
            lacking[tool] += 1
        elif len(ids) > 1:
            several[tool] += 1
        else:
            found |= ids
    return found
