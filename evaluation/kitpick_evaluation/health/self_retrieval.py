"""Searches for every API with its own request: an example, or one made from its description.

A summary becomes a clause of a request: "Returns a user" → "get a user".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources

import msgspec
import numpy as np

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.health.findings import Finding, FindingEffect, FindingKind, Health

_VERBS = frozenset((resources.files(__package__) / "verbs.txt").read_text("utf-8").split())
"""Verbs that a summary may begin with, in their basic form."""
_ASKING = {"return": "get", "retrieve": "get", "view": "show", "request": "request", "read": "get"}
"""Verbs of an API's point of view, and what somebody who asks would say."""
_LEAD_IN = re.compile(
    r"^(?:this|the)\s+(?:api|endpoint|method|operation|resource|call|request|service|function|page)\s+"
    r"(?:can be used to|is used to|allows (?:you|users?) to|lets you|will|is for)?\s*|"
    r"^(?:use this (?:\w+) to|allows (?:you|users?) to|used to|api to|endpoint to)\s+",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\]'\"])[.!?:;](?:\s|$)|\n")
_NOISE = re.compile(r"\s*[\[(][^\])]{0,80}[\])]|[*_`#|]+|https?://\S+|<[^>]{1,100}>")
MIN_WORDS, MAX_WORDS = 2, 18


def first_sentence(prose: str) -> str:
    """Text up to the first end of a sentence, without markup, brackets and links."""
    first = _SENTENCE_END.split(prose.strip(), maxsplit=1)[0]
    return " ".join(_NOISE.sub(" ", first).split()).strip(" .,:;-")


def clause(prose: str) -> str | None:
    """An imperative clause in lower-case start, or None where the text is too short or too long to be one."""
    words = _LEAD_IN.sub("", first_sentence(prose)).split()
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        return None
    verb = _imperative(words[0])
    if verb is None:
        return "get " + " ".join([_lowered(words[0]), *words[1:]])
    return " ".join([_ASKING.get(verb, verb), *words[1:]])


def _imperative(word: str) -> str | None:
    """`Retrieves` → `retrieve`, `Searches` → `search`, `Copies` → `copy`; None for what is no known verb."""
    lower = word.lower()
    forms = (lower, lower.removesuffix("s"), lower.removesuffix("es"), re.sub("ies$", "y", lower))
    gerund = (lower.removesuffix("ing"), re.sub("ing$", "e", lower))
    return next((form for form in (*forms, *gerund) if form in _VERBS), None)


def _lowered(word: str) -> str:
    """Lower case unless the word is an acronym or a name with inner capitals."""
    return word.lower() if word[1:].islower() or len(word) == 1 else word


def without_clause(description: str, summary: str) -> str:
    """The description with the summary cut out of its beginning, so that the answer is not the question."""
    plain = description.strip()
    if plain.lower().startswith(summary.strip().lower().rstrip(".")):
        return plain[len(summary.strip().rstrip(".")) :].lstrip(" .,:;-\n")
    return plain


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


def finding_findings(
    documents: Sequence[ApiDocument], asked: Mapping[str, Asked], tools: Mapping[str, str]
) -> Iterator[Finding]:
    """Findings for APIs that their own requests do not find, or for which they find another tool's API.

    `tools` has the tool key of every API that a request can bring, by its id.
    """
    for document in documents:
        if (own := asked.get(document.id)) is None:
            continue
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
    found, reciprocal = [rank is not None for rank in ranks], [1 / rank if rank else 0.0 for rank in ranks]
    return (float(np.mean(found)), float(np.mean(reciprocal))) if ranks else (0.0, 0.0)
