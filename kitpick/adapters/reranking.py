"""Documents of other systems, ordered by the stages of a profile: in this process or by a service."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kitpick.catalog import remote_rescorer
from kitpick.model_set import ModelSet
from kitpick.settings import Settings
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request import Hit, Rescored, RescoreRequest
from kitpick_rescorers.search import LocalRescorer, prepare
from kitpick_rescorers.service.documents import RerankDocument, read_document
from kitpick_rescorers.state import joined

_log = logging.getLogger(__name__)


class Placed(msgspec.Struct, frozen=True):
    """One document at its place."""

    position: int
    """Its position in the list that was given, from 0."""
    score: float | None
    """Score in [0, 1], never rising along the list; None where nothing was scored."""
    reasons: tuple[str, ...] = ()


class Reranked(msgspec.Struct, frozen=True):
    """All documents, best first."""

    places: tuple[Placed, ...]
    degraded: tuple[str, ...]
    """What could not be done, and why: without a cross-encoder the order stands."""


class Reranker:
    """Orders documents for a request. Loads its models once: share one among components. Thread-safe."""

    def __init__(
        self,
        *,
        profile: str | Path | Profile | None = None,
        rescorer: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        """By default as `Settings` say.

        Args:
            profile: whose stages are run; the order that documents come in is its first stage.
            rescorer: URL of a service to rank with, in place of the models in this process.
            settings: models, key of the service and the like.

        Raises:
            UnknownProfile, InvalidProfile: there is no such profile.
            MissingExtra: a service is named, and the package to reach it is not installed.
        """
        settings = settings or Settings()
        if rescorer is not None:
            settings = replace(settings, rescorer=rescorer)
        chosen = settings.profile if profile is None else profile
        self._profile = (chosen if isinstance(chosen, Profile) else load_profile(chosen)).scoring_all()
        self._models = ModelSet(settings)
        self._remote = remote_rescorer(settings)

    def rank(self, query: str, documents: Sequence[RerankDocument]) -> Reranked:
        """Every document, best first.

        Raises:
            InvalidRequest: more documents or a longer query than a rescorer takes.
            Refused: the service will not rank for this key.
            ProviderRefused, RuntimeClash: the device asked for cannot be used.
        """
        candidates = [document.candidate(place) for place, document in enumerate(documents)]
        request = RescoreRequest(query, candidates, k=len(candidates))
        # A service embeds the request itself where no vector comes with it.
        rescored = self._local(request) if self._remote is None else self._remote(request, self._profile)
        degraded = tuple(f"{item.stage}: {item.reason}" for item in rescored.degraded)
        for reason in degraded:
            _log.warning("degraded: %s", reason)
        return Reranked(_places(rescored.results, len(candidates)), degraded)

    def close(self) -> None:
        """Releases the connections to a service."""
        if self._remote is not None:
            self._remote.close()

    def _local(self, request: RescoreRequest) -> Rescored:
        query = prepare(request.query, self._profile.needs() & {"vector"}, self._models.queries)
        embedded = replace(request, vector=query.vector, vector_model=query.model)
        rescored = LocalRescorer(self._models)(embedded, self._profile)
        return replace(rescored, degraded=joined(query.degraded, rescored.degraded))


def in_hierarchy(text: str, metadata: Mapping[str, Any]) -> RerankDocument:
    """A document of another system, whose metadata may name its `category`, `tool` and `api`."""
    known = {key: metadata[key] for key in ("category", "tool", "api") if key in metadata}
    return read_document(known | {"text": text})


def _places(hits: Sequence[Hit], count: int) -> tuple[Placed, ...]:
    """The hits in their order, and behind them what the profile dropped.

    Probabilities are handed out along it from the largest to the smallest: whoever sorts by score comes to
    the same order.
    """
    kept = [int(hit.id) for hit in hits]
    dropped = sorted(set(range(count)) - set(kept))
    known = sorted((hit.probability for hit in hits if hit.probability is not None), reverse=True)
    scores: list[float | None] = [None] * count
    if known:
        scores = [*known, *[0.0] * (count - len(known))]
    reasons = {int(hit.id): hit.reasons for hit in hits}
    return tuple(
        Placed(position, score, reasons.get(position, ()))
        for position, score in zip([*kept, *dropped], scores, strict=True)
    )
