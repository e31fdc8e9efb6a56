"""All checks of a catalog together.

Among them descriptions that tell nothing: empty, copied from API to API, or a repetition of the name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain, split_identifier
from kitpick_evaluation.health.duplicates import near_duplicates
from kitpick_evaluation.health.findings import Finding, FindingKind, Health
from kitpick_evaluation.health.self_retrieval import (
    Asked,
    OwnSearch,
    ask_all,
    finding_findings,
    health,
    rank_of,
)

SHARED = 3
"""A description that this many APIs of different names share is boilerplate."""
_WORD = re.compile(r"\w+")


def description_findings(documents: Sequence[ApiDocument]) -> Iterator[Finding]:
    """Findings about descriptions of APIs and of their parameters, in the order of the documents."""
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        sharing[_normal(document.description)].add(split_identifier(document.api).lower())
    for document in documents:
        described = _normal(document.description)
        if not described:
            yield Finding(FindingKind.EMPTY, document.id, "no description")
        elif len(sharing[described]) >= SHARED:
            detail = f"{len(sharing[described])} APIs share it: {described[:80]}"
            yield Finding(FindingKind.BOILERPLATE, document.id, detail)
        elif _only_names(described, document):
            yield Finding(FindingKind.BOILERPLATE, document.id, f"it repeats the name: {described[:80]}")
        if document.parameters and not any(item.description.strip() for item in document.parameters):
            names = ", ".join(item.name for item in document.parameters[:5])
            detail = f"none of {len(document.parameters)} is described: {names}"
            yield Finding(FindingKind.PARAMETERS, document.id, detail)


def _normal(description: str) -> str:
    return plain(description, 600).lower().rstrip(".")


def _only_names(described: str, document: ApiDocument) -> bool:
    named = f"{split_identifier(document.api)} {split_identifier(document.tool)}".lower()
    return set(_WORD.findall(described)) <= set(_WORD.findall(named)) | {"the", "a", "an", "api", "endpoint"}


def lint(
    documents: Sequence[ApiDocument],
    vectors: NDArray[np.float32],
    search: OwnSearch,
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
        *finding_findings(asked_of, asked, {document.id: document.tool_key for document in documents}),
    ]
    return health(documents, findings, asked)


def duplicate_findings(
    documents: Sequence[ApiDocument], vectors: NDArray[np.float32], asked: Mapping[str, Asked]
) -> Iterator[Finding]:
    """A finding for each pair, with the rank of its first API with and without the second."""
    for one, other, words, meaning in near_duplicates(documents, vectors):
        api, twin = documents[one].id, documents[other].id
        own = asked.get(api)
        rank = rank_of(api, own) if own else None
        without = rank_of(api, own, leaving_out=twin) if own else None
        detail = f"{words:.2f} of the words, {meaning:.2f} of the meaning"
        yield Finding(FindingKind.NEAR_DUPLICATE, api, detail, twin, rank, without)


def _with_rank(finding: Finding, asked: Mapping[str, Asked]) -> Finding:
    own = asked.get(finding.api)
    rank = rank_of(finding.api, own) if own else None
    return Finding(finding.kind, finding.api, finding.detail, rank=rank)
