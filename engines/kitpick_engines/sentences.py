"""Requests of several sentences: each sentence is also searched by itself.

One vector of the whole request can lose what only one of its sentences asks for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Place, SearchRequest

MAX_SENTENCES = 8
SIZE = 24
"""How many candidates of each ranking of a sentence at most: more are not found better, and each is read."""
_LEAST_WORDS = 3
_RRF = 5.0
_ENDS = re.compile(r"(?<=[.!?;])\s+|\n+")


def sentences_of(request: str) -> tuple[str, ...]:
    """The first eight sentences of at least three words, if the request has two or more; else none."""
    found = [part.strip() for part in _ENDS.split(request) if len(part.split()) >= _LEAST_WORDS]
    return tuple(found[:MAX_SENTENCES]) if len(found) > 1 else ()


def searches_of(request: SearchRequest) -> list[SearchRequest]:
    """A search for the whole request, and one for each of its sentences, with the same filter."""
    size = request.size if request.named else min(request.size, SIZE)
    return [
        replace(request, sentences=()),
        *(
            replace(request, text=each.text, vector=each.vector, size=size, sentences=())
            for each in request.sentences
        ),
    ]


def with_sentences(found: Sequence[Sequence[Candidate]]) -> list[Candidate]:
    """Merges the candidates of the whole request with those of its sentences.

    First come the candidates of the whole request, then those that only sentences found. In either ranking a
    candidate's rank for the sentences is its best over all of them. The two rankings are fused by reciprocal
    rank (Cormack et al., SIGIR 2009), ties by id; `sentence` is the place in that order.

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
    scores: dict[str, float] = {}
    for best in (lexical, dense):
        for id_, rank in best.items():
            scores[id_] = scores.get(id_, 0.0) + 1 / (_RRF + rank)
    order = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return {id_: Place(rank, scores[id_]) for rank, id_ in enumerate(order, start=1)}
