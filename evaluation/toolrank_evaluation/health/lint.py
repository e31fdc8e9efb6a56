"""All checks of a catalog together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.document import ApiDocument
from toolrank_evaluation.health.descriptions import description_findings
from toolrank_evaluation.health.duplicates import near_duplicates
from toolrank_evaluation.health.finding_itself import (
    Asked,
    Search,
    ask_all,
    finding_findings,
    health,
    rank_of,
)
from toolrank_evaluation.health.findings import Finding, Health, Kind


def lint(
    documents: Sequence[ApiDocument],
    vectors: NDArray[np.float32],
    search: Search,
    asked_of: Sequence[ApiDocument],
    advance: Callable[[int], None] = lambda _: None,
) -> Health:
    """Checks every API of a catalog.

    Args:
        documents: the APIs (n).
        vectors: their unit vectors (n, d).
        search: of the catalog, without a cross-encoder: what it cannot propose nothing can find.
        asked_of: the APIs whose own requests are asked; all, or a sample of a large catalog.
        advance: called with the number of APIs asked since the last call.
    """
    asked = ask_all(asked_of, search, advance)
    findings = [
        *duplicate_findings(documents, vectors, asked),
        *(_with_rank(finding, asked) for finding in description_findings(documents)),
        *finding_findings(asked_of, asked),
    ]
    return health(documents, findings, asked)


def duplicate_findings(
    documents: Sequence[ApiDocument], vectors: NDArray[np.float32], asked: Mapping[str, Asked]
) -> Iterator[Finding]:
    """A finding for each pair, with where its first API ends with and without the second."""
    for one, other, words, meaning in near_duplicates(documents, vectors):
        api, twin = documents[one].id, documents[other].id
        own = asked.get(api)
        rank = rank_of(api, own) if own else None
        without = rank_of(api, own, leaving_out=twin) if own else None
        detail = f"{words:.2f} of the words, {meaning:.2f} of the meaning"
        yield Finding(Kind.NEAR_DUPLICATE, api, detail, twin, rank, without)


def _with_rank(finding: Finding, asked: Mapping[str, Asked]) -> Finding:
    own = asked.get(finding.api)
    rank = rank_of(finding.api, own) if own else None
    return Finding(finding.kind, finding.api, finding.detail, rank=rank)
