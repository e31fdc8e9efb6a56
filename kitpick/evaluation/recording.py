"""Records requests over a catalog with their candidates once, so that trying a profile needs no engine.

Where a model is missing, or a request cannot be embedded, `EvaluationError` is raised.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Plan
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.recording import Recorded, RememberingFetcher
from kitpick_ingest.progress import Progress
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.search import ALL_RANKINGS, IndexFetcher
from kitpick_rescorers.state import Degradation, faults

_SCORES = 5_000_000
"""Pairs remembered, about 100 bytes each: no score is computed twice."""


def models_of(catalog: Catalog, profile: Profile) -> Models:
    """The models of a profile, with a cache that keeps every score."""
    models, missing = catalog.models.for_needs(profile.needs())
    if missing:
        raise _unfitted(profile, missing)
    return replace(models, cache=ScoreCache(_SCORES))


class Recorder:
    """Records requests with their candidates, as a catalog proposes them to a profile."""

    def __init__(self, catalog: Catalog, profile: Profile, plan: Plan) -> None:
        self._catalog = catalog
        self._profile = profile
        self._permitted = plan.permitted
        self._size = profile.first_stage.size_for(max(plan.sampling.cutoffs))
        self._fetcher = RememberingFetcher(IndexFetcher(catalog.engine, plan.permitted))

    def record(
        self,
        queries: Sequence[JudgedQuery],
        progress: Progress,
        matrices: Sequence[RequestMatrix] | None = None,
    ) -> list[Recorded]:
        """The requests, each turned by its own matrix; where none are given, all by that of the profile."""
        turns = [self._profile.request_matrix()] * len(queries) if matrices is None else matrices
        recorded = []
        with progress.phase("record", len(queries)) as advance:
            for query, matrix in zip(queries, turns, strict=True):
                recorded.append(self._recorded(query, matrix))
                advance(1)
        return recorded

    def _recorded(self, query: JudgedQuery, matrix: RequestMatrix | None) -> Recorded:
        # Every ranking is recorded whatever the profile's weights are: a setting may switch one of them on.
        way = self._catalog.way
        prepared = way.prepare(query.text, ALL_RANKINGS)
        prepared, request = way.candidates(prepared, ALL_RANKINGS, self._size, self._permitted, matrix)
        if found := faults(prepared.degraded):
            raise _unfitted(self._profile, found)
        return Recorded.of(query, request, self._fetcher)


def _unfitted(profile: Profile, missing: Sequence[Degradation]) -> EvaluationError:
    reasons = "; ".join(f"{item.stage}: {item.reason}" for item in missing)
    return EvaluationError(f"profile {profile.name!r} cannot be fitted: {reasons}")
