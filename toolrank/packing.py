"""Hits whose definitions fit into a token budget together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from toolrank.fetching import EngineFetcher
from toolrank.rescorer import Rescorer
from toolrank_engines.document import ApiDocument
from toolrank_ingest.definitions import render_definitions
from toolrank_ingest.json_values import JsonObject
from toolrank_ingest.slimming import slim_definition
from toolrank_rescorers.packing import best_fit, token_counter
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Hit, Rescored, RescoreRequest
from toolrank_rescorers.rounds import in_rounds
from toolrank_rescorers.state import StageTrace

_DEPTH = 50
"""How far down the list something may be taken from: behind that, relevance is worth less than room."""


class Packed(msgspec.Struct, frozen=True):
    """An answer within its budget."""

    rescored: Rescored
    slimmed: frozenset[str]
    """Ids whose definitions only fit without most of their prose."""


class _Sizes(msgspec.Struct, frozen=True):
    counter: str
    whole: Mapping[str, int]
    slim: Mapping[str, int]


def packed(
    fetcher: EngineFetcher, request: RescoreRequest, profile: Profile, rescorer: Rescorer, budget: int
) -> Packed:
    """Ranks, chooses the best set within the budget by slimmed definitions, and makes whole what then fits.

    Definitions are made whole by rank: what a model is most likely to call is what it reads most about.
    """
    deep = replace(request, k=max(_DEPTH, request.k))
    ranked = in_rounds(fetcher, deep, lambda asked: rescorer(asked, profile))
    sizes = _measured(fetcher.documents([hit.id for hit in ranked.results]))
    order = [hit.id for hit in ranked.results]
    kept = best_fit(order, sizes.slim, budget, request.k)
    whole = _made_whole(kept, sizes, budget)
    tokens = {key: sizes.whole[key] if key in whole else sizes.slim[key] for key in kept}
    cut = {key: f"cut: {sizes.slim[key]} tokens, others are worth more" for key in order if key in sizes.slim}
    reasons = cut | {key: f"{size} tokens" for key, size in tokens.items()}
    return Packed(_answer(ranked, tokens, reasons, budget, sizes.counter), frozenset(kept) - whole)


def _measured(documents: Sequence[ApiDocument]) -> _Sizes:
    rendered = render_definitions(documents, "openai")
    counter = token_counter()

    def tokens(definition: JsonObject) -> int:
        return counter.count(json.dumps(definition))

    pairs = list(zip([document.id for document in documents], rendered, strict=True))
    whole = {key: tokens(definition) for key, definition in pairs}
    # A short description can be its own first sentence: then both are the same.
    slim = {key: min(whole[key], tokens(slim_definition(definition))) for key, definition in pairs}
    return _Sizes(counter.name, whole, slim)


def _made_whole(kept: Sequence[str], sizes: _Sizes, budget: int) -> frozenset[str]:
    left = budget - sum(sizes.slim[key] for key in kept)
    whole = []
    for key in kept:
        more = sizes.whole[key] - sizes.slim[key]
        if more <= left:
            whole.append(key)
            left -= more
    return frozenset(whole)


def _answer(
    ranked: Rescored, tokens: Mapping[str, int], reasons: Mapping[str, str], budget: int, counter: str
) -> Rescored:
    """The kept hits, ranked anew, with a trace of the packing."""
    kept = [hit for hit in ranked.results if hit.id in tokens]
    used = sum(tokens.values())
    note = f"{len(kept)} of {len(ranked.results)} chosen: {used} of {budget} tokens by {counter}"
    entry = StageTrace(
        stage="pack",
        milliseconds=0.0,
        order=tuple(hit.id for hit in kept),
        scores=tuple(hit.score for hit in kept),
        reasons=reasons,
        note=note,
        details={"tokens": float(used), "budget": float(budget)},
    )
    hits = tuple(_packed_hit(hit, rank, reasons[hit.id]) for rank, hit in enumerate(kept, start=1))
    return replace(ranked, results=hits, trace=(*ranked.trace, entry))


def _packed_hit(hit: Hit, rank: int, reason: str) -> Hit:
    return replace(hit, rank=rank, reasons=(*hit.reasons, f"pack: {reason}"))
