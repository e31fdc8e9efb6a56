"""Hits whose definitions fit into a token budget together."""

from __future__ import annotations

import json

from msgspec.structs import replace

from toolrank.fetching import EngineFetcher
from toolrank_ingest.definitions import render_definitions
from toolrank_rescorers.models import Models
from toolrank_rescorers.packing import token_counter
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest
from toolrank_rescorers.rounds import rescore_with
from toolrank_rescorers.stages.pack import Pack

_DEPTH = 50
"""How far down the list something may be taken from: behind that, relevance is worth less than room."""


def packed(
    fetcher: EngineFetcher, request: RescoreRequest, profile: Profile, models: Models, budget: int
) -> Rescored:
    """Ranks, measures the definitions of the best, and ranks again with packing as the last stage.

    The second ranking costs no model time: the scores are in the cache.
    """
    best = rescore_with(fetcher, replace(request, k=max(_DEPTH, request.k)), profile, models)
    documents = fetcher.documents([hit.id for hit in best.results])
    rendered = render_definitions(documents, "openai")
    texts = {
        document.id: json.dumps(definition) for document, definition in zip(documents, rendered, strict=True)
    }
    measured = replace(request, sizes=token_counter().measure(texts))
    return rescore_with(fetcher, measured, profile.then(Pack(budget=budget)), models)
