"""Evaluation: a dataset gets a catalog of its own, and every profile answers its requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolrank.catalog import Catalog
from toolrank.settings import Settings
from toolrank_evaluation.dataset import JudgedQuery, check_dataset, check_queries, select
from toolrank_evaluation.datasets.opening import open_dataset
from toolrank_evaluation.datasets.queries_file import queries_file
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.evaluate import Ranker, Report, evaluate
from toolrank_ingest.progress import Progress
from toolrank_rescorers.profiles import load_profile


def evaluate_dataset(
    name: str, data: Path, profiles: Sequence[str], limit: int | None, progress: Progress
) -> Report:
    """Takes a dataset into a catalog beside the embedding cache (again only what changed) and evaluates it.

    Raises:
        EvaluationError, IngestError, EngineError, ModelError, RescorerError: see there.
    """
    settings = Settings()
    dataset = check_dataset(open_dataset(name, data))
    place = settings.embedding_cache.parent / "evaluation" / f"{dataset.name}.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        catalog.ingest(dataset.source, progress=progress)
        return evaluate_catalog(catalog, dataset.name, select(dataset.queries, limit), profiles, progress)


def evaluate_queries(
    catalog: Catalog, queries: Path, profiles: Sequence[str], limit: int | None, progress: Progress
) -> Report:
    """Evaluates judged requests over a catalog as it stands.

    Raises:
        EvaluationError, EngineError, ModelError, RescorerError: see there.
    """
    judged = queries_file(queries)
    live = catalog.engine.live()
    known = {id_ for id_, _ in catalog.engine.hashes(live[0])} if live else set()
    check_queries(queries.name, judged, known)
    return evaluate_catalog(catalog, queries.name, select(judged, limit), profiles, progress)


def evaluate_catalog(
    catalog: Catalog, name: str, queries: Sequence[JudgedQuery], profiles: Sequence[str], progress: Progress
) -> Report:
    """Asks every request of every profile. A degraded answer would tell of something else, so it fails.

    Raises:
        EvaluationError: a profile could not run in full.
    """
    rankers = {profile: _ranker(catalog, profile) for profile in profiles}
    with progress.phase("evaluate", len(queries)) as advance:
        return evaluate(name, queries, rankers, advance=advance)


def _ranker(catalog: Catalog, name: str) -> Ranker:
    profile = load_profile(name)

    def rank(request: str, k: int) -> list[str]:
        result = catalog.search(request, k, profile=profile)
        if result.degraded:
            reasons = "; ".join(f"{item.stage}: {item.reason}" for item in result.degraded)
            raise EvaluationError(f"profile {name!r} cannot be evaluated, it ran degraded: {reasons}")
        return [hit.document.id for hit in result.hits]

    return rank
