"""Tuning over a catalog: requests are recorded with their candidates, then the engine is hardly needed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolrank.catalog import Catalog
from toolrank.evaluating import Judged, Plan
from toolrank.fetching import EngineFetcher
from toolrank_engines.contract import SearchRequest
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.tuning.recording import Recorded, RememberingFetcher
from toolrank_evaluation.tuning.space import Choice
from toolrank_evaluation.tuning.tune import Ground, Tuned, TuneOptions, tune
from toolrank_ingest.progress import Progress
from toolrank_rescorers.models import Models
from toolrank_rescorers.profiles import Profile, load_profile
from toolrank_rescorers.request import RescoreRequest
from toolrank_rescorers.scoring import ScoreCache

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
    """Searches for settings of a profile that answer the judged requests best.

    Raises:
        EvaluationError, RescorerError, EngineError, ModelError: see there.
    """
    base = load_profile(profile)
    models = _models(judged.catalog, base)
    depth = _depth(base, choices)
    with progress.phase("record", len(judged.queries)) as advance:
        fetcher = RememberingFetcher(EngineFetcher(judged.catalog.engine, plan.permitted))
        recorded = []
        for query in judged.queries:
            recorded.append(_recorded(judged.catalog, query, base, plan, fetcher, depth))
            advance(1)
    with progress.phase("tune", options.effort.trials) as advance:
        return tune(recorded, base, choices, Ground(models, judged.facets), options, advance)


def _models(catalog: Catalog, profile: Profile) -> Models:
    models, missing = catalog.models.for_needs(profile.needs())
    if missing:
        reasons = "; ".join(f"{item.stage}: {item.reason}" for item in missing)
        raise EvaluationError(f"profile {profile.name!r} cannot be tuned, models are missing: {reasons}")
    return replace(models, cache=ScoreCache(_SCORES))


def _recorded(
    catalog: Catalog,
    query: JudgedQuery,
    profile: Profile,
    plan: Plan,
    fetcher: RememberingFetcher,
    depth: int | None,
) -> Recorded:
    vector = catalog.models.query_vector(query.text)
    # Every ranking is recorded whatever the profile's weights are: a setting may switch one of them on.
    wanted = SearchRequest(
        query.text,
        vector,
        profile.first_stage.size_for(max(plan.sampling.cutoffs)),
        plan.permitted,
        catalog.models.sentences(query.text),
    )
    candidates = catalog.engine.search(wanted)
    return Recorded.of(query, RescoreRequest(query.text, candidates, vector), fetcher, depth)


def _depth(profile: Profile, choices: Sequence[Choice]) -> int | None:
    """How deep the deepest stage looks; None where a profile without a bound looks at everything."""
    if not any(stage.name == "cross_encode" for stage in profile.stages):
        return None
    tuned = {(choice.stage, choice.field): int(max(choice.values)) for choice in choices}
    depths = [
        max(int(getattr(stage, _DEPTH[stage.name])), tuned.get((stage.name, _DEPTH[stage.name]), 0))
        for stage in profile.stages
        if stage.name in {"cross_encode", "truncate"}
    ]
    return max(depths)
