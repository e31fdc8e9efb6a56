"""Hits whose definitions fit into a token budget together."""

from __future__ import annotations

import json

from msgspec.structs import replace

from toolrank.fetching import EngineFetcher
from toolrank.rescorer import Rescorer
from toolrank_ingest.definitions import render_definitions
from toolrank_rescorers.packing import token_counter
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest
from toolrank_rescorers.rounds import in_rounds
from toolrank_rescorers.stages.pack import Pack

_DEPTH = 50
"""How far down the list something may be taken from: behind that, relevance is worth less than room."""


def packed(
    fetcher: EngineFetcher, request: RescoreRequest, profile: Profile, rescorer: Rescorer, budget: int
) -> Rescored:
    """Ranks, measures the definitions of the best, and ranks again with packing as the last stage.

    The second ranking costs no model time: the scores are in the cache.
    """
    deep = replace(request, k=max(_DEPTH, request.k))
    best = in_rounds(fetcher, deep, lambda asked: rescorer(asked, profile))
    documents = fetcher.documents([hit.id for hit in best.results])
    rendered = render_definitions(documents, "openai")
    texts = {
        document.id: json.dumps(definition) for document, definition in zip(documents, rendered, strict=True)
    }
    measured = replace(request, sizes=token_counter().measure(texts))
    packing = profile.then(Pack(budget=budget))
    return in_rounds(fetcher, measured, lambda asked: rescorer(asked, packing))
