"""Ranks the documents of rerank dialects, by the cross-encoder alone or by a profile."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from kitpick_foundation.visible import says_nothing
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.scoring import score_pairs
from kitpick_rescorers.search import prepare
from kitpick_service.core import Service
from kitpick_service.documents import RerankDocument
from kitpick_service.errors import NotFound, TooLarge
from kitpick_service.ticket import Ticket

PLAIN = "rerank"
UNNAMED = "default/not-specified"
"""What some clients of embeddings send where they name no model."""
MODELS = (PLAIN, "kitpick", "toolrerank")
"""Model names: the cross-encoder alone, and two profiles that look at the hierarchy of tools."""

_STEP = 1e-6
"""Smallest difference that six decimals show."""


class Scored(msgspec.Struct, frozen=True):
    """One document of an answer, best first. `score` is in [0, 1] and never rises along the list."""

    index: int
    """Position in the request, from 0."""
    score: float
    logit: float


def rank_documents(
    service: Service, ticket: Ticket, model: str, query: str, documents: Sequence[RerankDocument]
) -> list[Scored]:
    """Every document, best first; ties by position; those that say nothing last, with a score of 0.

    With a profile the order is its own, and the documents' order is taken for that of the first stage. The
    probabilities are handed out along it from the largest to the smallest, a step apart: clients sort by
    score, and must come to this order.

    Raises:
        NotFound: an unknown model.
        Overloaded, DeadlinePassed, Cancelled: not scored.
    """
    profile = _profile(service, model)
    scorer = service.models.scorer(ticket)
    logits, _ = score_pairs(
        scorer, service.models.scores_of(ticket), query, [item.text for item in documents]
    )
    empty = np.array([says_nothing(item.text) for item in documents], dtype=np.bool_)
    probabilities = np.where(empty, 0.0, scorer.probability(logits.astype(np.float32))).tolist()
    if profile is None:
        order = np.lexsort((np.arange(len(logits)), -logits, empty)).tolist()
        return [Scored(index, probabilities[index], float(logits[index])) for index in order]
    order = _by_profile(service, ticket, profile, query, documents)
    order.sort(key=lambda index: bool(empty[index]))
    falling = _a_step_apart(sorted(probabilities, reverse=True))
    return [Scored(index, score, float(logits[index])) for index, score in zip(order, falling, strict=True)]


def require_count(service: Service, count: int, what: str) -> None:
    """Refuses requests with too many inputs.

    Raises:
        TooLarge: there are.
    """
    most = service.settings.max_documents
    if count > most:
        raise TooLarge(f"{count:,} {what}: at most {most:,} in one request")


def _profile(service: Service, model: str) -> Profile | None:
    if model in {PLAIN, UNNAMED, service.models.info()["cross_encoder"].identity.partition("@")[0]}:
        return None
    if model not in MODELS:
        raise NotFound(f"no model {model[:100]!r}; known are {', '.join(MODELS)}")
    return load_profile(model)


def _by_profile(
    service: Service, ticket: Ticket, profile: Profile, query: str, documents: Sequence[RerankDocument]
) -> list[int]:
    """Positions in the order of the profile, then those that it drops. Scores come from the cache."""
    vector = prepare(query, profile.needs() & {"vector"}, service.models.queries(ticket)).vector
    # Texts alone have no rankings, which a list ranker reads.
    models, _ = service.models.for_needs(profile.needs() - {"ranker"}, ticket)
    candidates = [item.candidate(position) for position, item in enumerate(documents)]
    request = RescoreRequest(query, candidates, vector, k=len(documents))
    # Clients that send that many documents want all of them scored, and they are.
    rescored = rescore(request, profile.scoring_all(), models, deadline=ticket.working())
    ranked = [int(hit.id) for hit in rescored.results]
    if ticket.refusal is not None:
        raise ticket.refusal
    ticket.check()
    kept = set(ranked)
    return ranked + [position for position in range(len(documents)) if position not in kept]


def _a_step_apart(scores: Sequence[float]) -> list[float]:
    """Descending scores in [0, 1], moved as little as it takes to be a step apart, while there is room."""
    kept: list[float] = []
    floor = 0.0
    for score in reversed(scores):
        kept.append(min(1.0, max(score, floor)))
        floor = kept[-1] + _STEP
    return kept[::-1]
