"""Requests of several sentences: each is asked by itself as well, so that none is lost in the mean of all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from toolrank_engines.contract import Candidate, Place, SearchRequest

MAX_SENTENCES = 8
SIZE = 100
"""Of each ranking of a sentence, at most."""
_LEAST_WORDS = 3
_RRF = 5.0
_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences_of(request: str) -> tuple[str, ...]:
    """The first eight sentences of a request that has several, of at least three words each; else none."""
    found = [part.strip() for part in _ENDS.split(request) if len(part.split()) >= _LEAST_WORDS]
    return tuple(found[:MAX_SENTENCES]) if len(found) > 1 else ()


def searches_of(request: SearchRequest) -> list[SearchRequest]:
    """The whole request, and one for each of its sentences, by the same filter."""
    size = min(request.size, SIZE)
    return [
        replace(request, sentences=()),
        *(
            replace(request, text=each.text, vector=each.vector, size=size, sentences=())
            for each in request.sentences
        ),
    ]


def with_sentences(found: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """What the whole request found with places among what its sentences did, then what only these found.

    In either ranking a candidate's place is its best over all sentences; the two are fused by reciprocal rank
    (Cormack et al., SIGIR 2009), ties by id, and a place is one in that order.

    Args:
        found: candidates by search, as `searches_of` orders them.
    """
    whole = list(found[0])
    parts = [candidate for candidates in found[1:] for candidate in candidates]
    if not parts:
        return whole
    places = _places(parts)
    proposed = {candidate.id for candidate in whole}
    only_parts = {
        each.id: replace(each, lexical=None, dense=None) for each in parts if each.id not in proposed
    }
    behind = sorted(only_parts.values(), key=lambda candidate: places[candidate.id].rank)
    return [replace(each, sentence=places.get(each.id)) for each in (*whole, *behind)]


def _places(found: Iterable[Candidate]) -> dict[str, Place]:
    lexical: dict[str, int] = {}
    dense: dict[str, int] = {}
    for candidate in found:
        for best, place in ((lexical, candidate.lexical), (dense, candidate.dense)):
            if place is not None:
                best[candidate.id] = min(best.get(candidate.id, place.rank), place.rank)
    scores = {
        id_: sum(1 / (_RRF + best[id_]) for best in (lexical, dense) if id_ in best)
        for id_ in lexical.keys() | dense.keys()
    }
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return {id_: Place(rank, scores[id_]) for rank, id_ in enumerate(order, start=1)}
