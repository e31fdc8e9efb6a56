"""Descriptions that tell nothing: empty, copied from API to API, or a repetition of the name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from toolrank_engines.document import ApiDocument
from toolrank_engines.text import plain, split_identifier
from toolrank_evaluation.health.findings import Finding, Kind

SHARED = 3
"""So many APIs of different names with one description make it boilerplate."""
_WORD = re.compile(r"\w+")


def description_findings(documents: Sequence[ApiDocument]) -> Iterator[Finding]:
    """What the descriptions of the APIs and of their parameters lack, in the order of the documents."""
    sharing: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        sharing[_normal(document.description)].add(split_identifier(document.api).lower())
    for document in documents:
        described = _normal(document.description)
        if not described:
            yield Finding(Kind.EMPTY, document.id, "no description")
        elif len(sharing[described]) >= SHARED:
            yield Finding(
                Kind.BOILERPLATE, document.id, f"{len(sharing[described])} APIs share it: {described[:80]}"
            )
        elif _only_names(described, document):
            yield Finding(Kind.BOILERPLATE, document.id, f"it repeats the name: {described[:80]}")
        if document.parameters and not any(item.description.strip() for item in document.parameters):
            names = ", ".join(item.name for item in document.parameters[:5])
            yield Finding(
                Kind.PARAMETERS, document.id, f"none of {len(document.parameters)} is described: {names}"
            )


def _normal(description: str) -> str:
    return plain(description, 600).lower().rstrip(".")


def _only_names(described: str, document: ApiDocument) -> bool:
    named = f"{split_identifier(document.api)} {split_identifier(document.tool)}".lower()
    return set(_WORD.findall(described)) <= set(_WORD.findall(named)) | {"the", "a", "an", "api", "endpoint"}
