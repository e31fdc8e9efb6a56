"""Tuning over a catalog: records requests with their candidates once, so that trials need no engine."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged, Plan
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.tuning.recording import Recorded, RememberingFetcher
from kitpick_evaluation.tuning.space import Choice
from kitpick_evaluation.tuning.tune import Ground, Tuned, TuneOptions, tune
from kitpick_ingest.progress import Progress
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.search import ALL_RANKINGS, IndexFetcher
from kitpick_rescorers.stages.learned import Learned
from kitpick_rescorers.state import Degradation, faults

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
    """Tunes the settings of a profile on judged requests; of a list ranker that fits the models in use, too.

    Raises:
        EvaluationError: there are too few requests, or a setting cannot be varied.
        RescorerError: there is no such profile.
        EngineError, ModelError: the catalog cannot be searched.
    """
    whole = load_profile(profile)
    base = _with_its_models(judged.catalog, whole)
    left_out = {stage.name for stage in whole.stages} - {stage.name for stage in base.stages}
    choices = [choice for choice in choices if choice.stage not in left_out]
    models = models_of(judged.catalog, base)
    recorder = Recorder(judged.catalog, base, plan, _depth(base, choices))
    recorded = recorder.record(judged.queries, progress)
    with progress.phase("tune", options.effort.trials) as advance:
        return tune(recorded, base, choices, Ground(models, judged.facets), options, advance)


def _with_its_models(catalog: Catalog, profile: Profile) -> Profile:
    """The profile without an optional list ranker that learned beside other models, which no search runs."""
    _, missing = catalog.models.for_needs(profile.needs())
    if "list_ranker" not in {item.stage for item in missing}:
        return profile
    kept = (stage for stage in profile.stages if not (isinstance(stage, Learned) and stage.optional))
    return replace(profile, stages=tuple(kept))


def models_of(catalog: Catalog, profile: Profile) -> Models:
    """The models of a profile, with a cache that keeps every score.

    Raises:
        EvaluationError: one of them is missing.
    """
    models, missing = catalog.models.for_needs(profile.needs())
    if missing:
        raise _untunable(profile, missing)
    return replace(models, cache=ScoreCache(_SCORES))


class Recorder:
    """Records requests with their candidates, as a catalog proposes them to a profile."""

    def __init__(self, catalog: Catalog, profile: Profile, plan: Plan, depth: int | None = None) -> None:
        """A request's candidates that can come within the depth are near."""
        self._catalog = catalog
        self._profile = profile
        self._permitted = plan.permitted
        self._size = profile.first_stage.size_for(max(plan.sampling.cutoffs))
        self._depth = depth
        self._fetcher = RememberingFetcher(IndexFetcher(catalog.engine, plan.permitted))

    def record(
        self,
        queries: Sequence[JudgedQuery],
        progress: Progress,
        matrices: Sequence[RequestMatrix] | None = None,
    ) -> list[Recorded]:
        """The requests, each turned by its own matrix; where none are given, all by the one of the profile.

        Raises:
            EvaluationError: a request could not be embedded.
            EngineError: the catalog cannot be searched.
        """
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
            raise _untunable(self._profile, found)
        return Recorded.of(query, request, self._fetcher, self._depth)


def _untunable(profile: Profile, missing: Sequence[Degradation]) -> EvaluationError:
    reasons = "; ".join(f"{item.stage}: {item.reason}" for item in missing)
    return EvaluationError(f"profile {profile.name!r} cannot be fitted: {reasons}")


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
