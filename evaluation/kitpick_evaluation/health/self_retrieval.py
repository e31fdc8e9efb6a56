"""Searches for every API with its own request: an example, or one made from its description."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.health.clauses import clause
from kitpick_evaluation.health.findings import Finding, FindingEffect, FindingKind, Health

DEPTH = 10
"""How many hits count: a model is rarely offered more."""
_MOST_WORDS = 12

OwnSearch = Callable[[str, int], Sequence[str]]
"""Maps a request and a depth to API ids, best first."""


class Asked(msgspec.Struct, frozen=True):
    """An API's own request, and the hits it brought."""

    request: str
    hits: tuple[str, ...]


def own_request(document: ApiDocument) -> str:
    """The first example, or a request made from the first clause of the description; empty without either.

    A made-up request uses the description's own words, so failing it is worse than failing a real one.
    """
    if document.examples:
        return document.examples[0]
    asked = clause(document.description) if document.description else ""
    return f"I need to {' '.join(asked.split()[:_MOST_WORDS])}" if asked else ""


def ask_all(
    documents: Sequence[ApiDocument], search: OwnSearch, advance: Callable[[int], None] = lambda _: None
) -> dict[str, Asked]:
    """The hits of every API's own request, by id; without APIs that have no such request."""
    found = {}
    for document in documents:
        request = own_request(document)
        if request:
            found[document.id] = Asked(request, tuple(search(request, DEPTH + 1)))
        advance(1)
    return found


def finding_findings(documents: Sequence[ApiDocument], asked: Mapping[str, Asked]) -> Iterator[Finding]:
    """Findings for APIs that their own requests do not find, or for which they find another tool's API."""
    tools = {document.id: document.tool_key for document in documents}
    for document in documents:
        if document.id not in asked:
            continue
        own = asked[document.id]
        rank = rank_of(document.id, own)
        if rank is None:
            detail = f"not among {DEPTH} hits of its own request: {own.request[:80]}"
            yield Finding(FindingKind.NOT_FOUND, document.id, detail)
        first = own.hits[0] if own.hits else document.id
        if first != document.id and tools.get(first, "") != document.tool_key:
            detail = f"its own request brings another tool's first: {own.request[:80]}"
            without = rank_of(document.id, own, leaving_out=first)
            yield Finding(FindingKind.CONFUSABLE, document.id, detail, first, rank, without)


def rank_of(api: str, asked: Asked, leaving_out: str = "") -> int | None:
    """Rank from 1 of an API among the first hits, as if the catalog lacked another one; None if absent."""
    hits = [hit for hit in asked.hits if hit != leaving_out][:DEPTH]
    return hits.index(api) + 1 if api in hits else None


def health(
    documents: Sequence[ApiDocument], findings: Sequence[Finding], asked: Mapping[str, Asked]
) -> Health:
    """The findings, with the effect of each kind on retrieval."""
    kinds = [kind for kind in FindingKind if any(finding.kind is kind for finding in findings)]
    return Health(
        apis=len(documents),
        asked=len(asked),
        depth=DEPTH,
        findings=tuple(findings),
        effects=tuple(_effect(kind, findings, asked) for kind in kinds),
    )


def _effect(kind: FindingKind, findings: Sequence[Finding], asked: Mapping[str, Asked]) -> FindingEffect:
    affected = {finding.api for finding in findings if finding.kind is kind}
    ranks = [rank_of(api, own) for api, own in asked.items() if api in affected]
    sound = [rank_of(api, own) for api, own in asked.items() if api not in affected]
    return FindingEffect(kind, len(affected), len(ranks), *_found(ranks), *_found(sound))


def _found(ranks: Sequence[int | None]) -> tuple[float, float]:
    """Share that was found, and mean reciprocal rank; 0 without ranks."""
    if not ranks:
        return 0.0, 0.0
    return (
        float(np.mean([rank is not None for rank in ranks])),
        float(np.mean([1 / rank if rank else 0.0 for rank in ranks])),
    )
