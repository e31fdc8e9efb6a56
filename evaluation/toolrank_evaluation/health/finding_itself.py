"""Does an API's own request find it? Its examples are asked, or a request made up from its description."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from toolrank_engines.document import ApiDocument
from toolrank_evaluation.health.findings import Effect, Finding, Health, Kind
from toolrank_evaluation.training_sets.clauses import clause

DEPTH = 10
"""How many hits count: a model is rarely offered more."""
_MOST_WORDS = 12

Search = Callable[[str, int], Sequence[str]]
"""Maps a request and a depth to API ids, best first."""


class Asked(msgspec.Struct, frozen=True):
    """An API's own request, and the hits it brought."""

    request: str
    hits: tuple[str, ...]


def own_request(document: ApiDocument) -> str:
    """The first example, or a request made up from the first clause of the description; empty without either.

    A made-up request uses the description's own words, so failing it is worse than failing a real one.
    """
    if document.examples:
        return document.examples[0]
    asked = clause(document.description) if document.description else ""
    return f"I need to {' '.join(asked.split()[:_MOST_WORDS])}" if asked else ""


def ask_all(
    documents: Sequence[ApiDocument], search: Search, advance: Callable[[int], None] = lambda _: None
) -> dict[str, Asked]:
    """The hits of every API's own request, by id; without APIs that have nothing to ask with."""
    found = {}
    for document in documents:
        request = own_request(document)
        if request:
            found[document.id] = Asked(request, tuple(search(request, DEPTH + 1)))
        advance(1)
    return found


def finding_findings(documents: Sequence[ApiDocument], asked: Mapping[str, Asked]) -> Iterator[Finding]:
    """APIs that their own requests do not find, and those that another tool's API is taken for."""
    tools = {document.id: document.tool_key for document in documents}
    for document in documents:
        if document.id not in asked:
            continue
        own = asked[document.id]
        rank = rank_of(document.id, own)
        if rank is None:
            detail = f"not among {DEPTH} hits of its own request: {own.request[:80]}"
            yield Finding(Kind.NOT_FOUND, document.id, detail)
        first = own.hits[0] if own.hits else document.id
        if first != document.id and tools.get(first, "") != document.tool_key:
            detail = f"its own request brings another tool's first: {own.request[:80]}"
            without = rank_of(document.id, own, leaving_out=first)
            yield Finding(Kind.CONFUSABLE, document.id, detail, first, rank, without)


def rank_of(api: str, asked: Asked, leaving_out: str = "") -> int | None:
    """Rank from 1 of an API among the first hits, as if the catalog lacked another one; None behind them."""
    hits = [hit for hit in asked.hits if hit != leaving_out][:DEPTH]
    return hits.index(api) + 1 if api in hits else None


def health(
    documents: Sequence[ApiDocument], findings: Sequence[Finding], asked: Mapping[str, Asked]
) -> Health:
    """Findings together with what each kind of them does to retrieval."""
    kinds = [kind for kind in Kind if any(finding.kind is kind for finding in findings)]
    return Health(
        apis=len(documents),
        asked=len(asked),
        depth=DEPTH,
        findings=tuple(findings),
        effects=tuple(_effect(kind, findings, asked) for kind in kinds),
    )


def _effect(kind: Kind, findings: Sequence[Finding], asked: Mapping[str, Asked]) -> Effect:
    affected = {finding.api for finding in findings if finding.kind is kind}
    ranks = [rank_of(api, own) for api, own in asked.items() if api in affected]
    sound = [rank_of(api, own) for api, own in asked.items() if api not in affected]
    return Effect(kind, len(affected), len(ranks), *_found(ranks), *_found(sound))


def _found(ranks: Sequence[int | None]) -> tuple[float, float]:
    """Share that was found, and mean reciprocal rank; 0 of nothing."""
    if not ranks:
        return 0.0, 0.0
    return (
        float(np.mean([rank is not None for rank in ranks])),
        float(np.mean([1 / rank if rank else 0.0 for rank in ranks])),
    )
