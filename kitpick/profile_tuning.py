"""Tuning over a catalog: records requests with their candidates once, so that trials need no engine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.evaluation import Judged, Plan
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.tuning.recording import Recorded, RememberingFetcher
from kitpick_evaluation.tuning.space import Choice
from kitpick_evaluation.tuning.tune import Ground, Tuned, TuneOptions, tune
from kitpick_ingest.progress import Progress
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.search import ALL_RANKINGS, IndexFetcher
from kitpick_rescorers.state import Degradation

_SCORES = 5_000_000
"""Pairs remembered, about 100 bytes each: no score is computed twice in a search."""
_DEPTH = {"cross_encode": "candidates", "truncate": "unseen", "decode": "candidates", "mmr": "candidates"}


def tune_profile(
    judged: Judged,
    profile: str,
    choices: Sequence[Choice],
    plan: Plan,
    options: TuneOptions,
    progress: Progress,
) -> Tuned:
    """Tunes the settings of a profile on judged requests.

    Raises:
        EvaluationError: there are too few requests, or a setting cannot be varied.
        RescorerError: there is no such profile.
        EngineError, ModelError: the catalog cannot be searched.
    """
    base = load_profile(profile)
    models = models_of(judged.catalog, base)
    recorded = record(judged.catalog, judged.queries, base, plan, progress, _depth(base, choices))
    with progress.phase("tune", options.effort.trials) as advance:
        return tune(recorded, base, choices, Ground(models, judged.facets), options, advance)


def models_of(catalog: Catalog, profile: Profile) -> Models:
    """The models of a profile, with a cache that keeps every score.

    Raises:
        EvaluationError: one of them is missing.
    """
    models, missing = catalog.models.for_needs(profile.needs())
    if missing:
        raise _untunable(profile, missing)
    return replace(models, cache=ScoreCache(_SCORES))


def record(
    catalog: Catalog,
    queries: Sequence[JudgedQuery],
    profile: Profile,
    plan: Plan,
    progress: Progress,
    depth: int | None = None,
) -> list[Recorded]:
    """Requests with their candidates; of these, those that can come within a depth are near.

    Raises:
        EvaluationError: a request could not be embedded.
        EngineError: the catalog cannot be searched.
    """
    fetcher = RememberingFetcher(IndexFetcher(catalog.engine, plan.permitted))
    recorded = []
    with progress.phase("record", len(queries)) as advance:
        for query in queries:
            recorded.append(_recorded(catalog, query, profile, plan, fetcher, depth))
            advance(1)
    return recorded


def _untunable(profile: Profile, missing: Sequence[Degradation]) -> EvaluationError:
    reasons = "; ".join(f"{item.stage}: {item.reason}" for item in missing)
    return EvaluationError(f"profile {profile.name!r} cannot be tuned, models are missing: {reasons}")


def _recorded(
    catalog: Catalog,
    query: JudgedQuery,
    profile: Profile,
    plan: Plan,
    fetcher: RememberingFetcher,
    depth: int | None,
) -> Recorded:
    # Every ranking is recorded whatever the profile's weights are: a setting may switch one of them on.
    prepared = catalog.way.prepare(query.text, ALL_RANKINGS)
    size = profile.first_stage.size_for(max(plan.sampling.cutoffs))
    prepared, request = catalog.way.candidates(prepared, ALL_RANKINGS, size, plan.permitted)
    if prepared.degraded:
        raise _untunable(profile, prepared.degraded)
    return Recorded.of(query, request, fetcher, depth)


def _depth(profile: Profile, choices: Sequence[Choice]) -> int | None:
    """The number of candidates that the deepest stage reads; None if there is no bound."""
    if not any(stage.name == "cross_encode" for stage in profile.stages):
        return None
    tuned = {(choice.stage, choice.field): int(max(choice.values)) for choice in choices}
    depths = [
        max(int(getattr(stage, _DEPTH[stage.name])), tuned.get((stage.name, _DEPTH[stage.name]), 0))
        for stage in profile.stages
        if stage.name in {"cross_encode", "truncate"}
    ]
    return max(depths)
