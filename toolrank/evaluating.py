"""Evaluation: a dataset gets a catalog of its own, and every profile answers its requests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from toolrank.answering import HITS, CatalogSystem, DefinitionTokens
from toolrank.catalog import Catalog
from toolrank.settings import Settings
from toolrank.timing import timings
from toolrank_engines.contract import Filter
from toolrank_engines.document import ApiDocument
from toolrank_evaluation.abstention import AbstentionQuality, abstention_quality
from toolrank_evaluation.answer import Answer, Ranker
from toolrank_evaluation.dataset import JudgedQuery, check_dataset, check_queries, select
from toolrank_evaluation.datasets.opening import open_dataset
from toolrank_evaluation.datasets.queries_file import queries_file
from toolrank_evaluation.evaluate import Evaluation, Observer, Sampling, evaluate
from toolrank_evaluation.facets import Facets
from toolrank_evaluation.metrics import check_cutoffs
from toolrank_evaluation.report import Cost, Provenance, Report, digest_of
from toolrank_ingest.progress import Progress
from toolrank_ingest.source import Source
from toolrank_rescorers.profiles import Profile, load_profile

TIMED = 20
"""Requests of which the time is taken: enough for a median, and a fraction of the run."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be measured, and of what."""

    profiles: tuple[str, ...]
    limit: int | None = None
    """At most so many requests, spread evenly."""
    sampling: Sampling = Sampling()
    timed: int = TIMED
    """Of how many requests the time is taken; 0 for none."""
    permitted: Filter = Filter()
    hits: int = HITS
    """How many definitions are handed to a model."""


class Judged(msgspec.Struct, frozen=True):
    """A catalog with the judged requests that are asked of it."""

    catalog: Catalog
    name: str
    queries: tuple[JudgedQuery, ...]
    requests: int
    """How many there were to choose from."""
    facets: Facets
    source: Source | None = None
    """Of a dataset's documents; None over an own catalog, which is taken as it stands."""


class Measured(msgspec.Struct, frozen=True):
    """A report, and the figures of every request behind it."""

    report: Report
    evaluation: Evaluation


@contextmanager
def judged_dataset(name: str, data: Path, plan: Plan, progress: Progress) -> Iterator[Judged]:
    """A dataset in a catalog beside the embedding cache; only what changed since the last time is taken in.

    Raises:
        EvaluationError, IngestError, EngineError, ModelError: see there.
    """
    settings = Settings()
    dataset = check_dataset(open_dataset(name, data))
    place = settings.embedding_cache.parent / "evaluation" / f"{dataset.name}.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        catalog.ingest(dataset.source, progress=progress)
        judged = _judged(catalog, dataset.name, dataset.queries, plan)
        yield msgspec.structs.replace(judged, source=dataset.source)


def judged_queries(catalog: Catalog, queries: Path, plan: Plan) -> Judged:
    """Judged requests over a catalog as it stands.

    Raises:
        EvaluationError, EngineError: see there.
        EmptyCatalog: nothing was ingested yet.
    """
    judged = queries_file(queries)
    check_queries(queries.name, judged, {id_ for id_, _ in _hashes(catalog)})
    return _judged(catalog, queries.name, judged, plan)


def measure(
    judged: Judged,
    plan: Plan,
    progress: Progress,
    observe: Observer = lambda *_: None,
    *,
    systems: Mapping[str, CatalogSystem] | None = None,
    rankers: Mapping[str, Ranker] | None = None,
) -> Measured:
    """Asks every request of every profile, and again without what answers it where a profile can abstain.

    Args:
        judged: the requests.
        plan: what to measure.
        progress: told of every phase.
        observe: told of every answer.
        systems: other systems than the plan's profiles over the requests' catalog.
        rankers: all that answer, where some are no systems: they cannot abstain, and take no time.

    Raises:
        EvaluationError: a profile could not run in full, or a k is too large.
        RescorerError: no such profile.
    """
    check_cutoffs(plan.sampling.cutoffs, len(_hashes(judged.catalog)))
    systems = open_systems(judged.catalog, plan) if systems is None else systems
    rankers = {name: ranker_of(system) for name, system in systems.items()} if rankers is None else rankers
    watched = _Watch(observe)
    with progress.phase("evaluate", len(judged.queries)) as advance:
        evaluation = evaluate(
            judged.queries,
            rankers,
            judged.facets,
            sampling=plan.sampling,
            observe=watched,
            advance=advance,
        )
    abstention = _abstention(judged, systems, watched.slim, plan, progress)
    timed = select(judged.queries, plan.timed) if plan.timed else ()
    with progress.phase("time", len(timed)) as advance:
        taken = timings(systems, timed, max(plan.sampling.cutoffs), advance)
    counter = DefinitionTokens().counter.name
    report = Report(
        complete=True,
        dataset=judged.name,
        queries=len(judged.queries),
        provenance=_provenance(judged, systems, plan),
        rows=evaluation.rows,
        costs=tuple(Cost(name, plan.hits, tokens, counter) for name, tokens in evaluation.tokens.items()),
        abstention=abstention,
        timings=taken,
    )
    return Measured(report, evaluation)


def open_systems(catalog: Catalog, plan: Plan) -> dict[str, CatalogSystem]:
    """The profiles of a plan as systems, by name, in order.

    Raises:
        RescorerError: no such profile.
    """
    tokens = DefinitionTokens()
    return {
        name: CatalogSystem(catalog, load_profile(name), tokens, permitted=plan.permitted, hits=plan.hits)
        for name in dict.fromkeys(plan.profiles)
    }


def ranker_of(system: CatalogSystem) -> Ranker:
    """The system as an evaluation asks it: by the text of a request alone."""
    return lambda query, k: system.ask(query.text, k)


class _Watch:
    """Passes answers on, and keeps of each what abstention is judged by."""

    def __init__(self, observe: Observer) -> None:
        self._observe = observe
        self.slim: dict[str, list[Answer]] = {}

    def __call__(self, profile: str, query: JudgedQuery, answer: Answer) -> None:
        self._observe(profile, query, answer)
        self.slim.setdefault(profile, []).append(msgspec.structs.replace(answer, trace=()))


def _abstention(
    judged: Judged,
    systems: Mapping[str, CatalogSystem],
    answered: Mapping[str, Sequence[Answer]],
    plan: Plan,
    progress: Progress,
) -> tuple[AbstentionQuality, ...]:
    able = {name: system for name, system in systems.items() if _can_abstain(system.profile)}
    deprived: dict[str, list[Answer]] = {name: [] for name in able}
    if not able:
        return ()
    with progress.phase("abstain", len(judged.queries)) as advance:
        for query in judged.queries:
            hidden = frozenset(judged.facets.tool(api) for api in query.relevant)
            for name, system in able.items():
                deprived[name].append(system.ask_without(query.text, max(plan.sampling.cutoffs), hidden))
            advance(1)
    return tuple(abstention_quality(name, answered[name], deprived[name]) for name in able)


def _can_abstain(profile: Profile) -> bool:
    return any(stage.name == "abstain" for stage in profile.stages)


def _judged(catalog: Catalog, name: str, queries: Sequence[JudgedQuery], plan: Plan) -> Judged:
    chosen = select(queries, plan.limit)
    return Judged(catalog, name, chosen, len(queries), _facets(catalog, chosen, plan))


def _facets(catalog: Catalog, queries: Sequence[JudgedQuery], plan: Plan) -> Facets:
    wanted = {api for query in queries for api in query.relevant}
    needs = frozenset[str]().union(*(load_profile(name).needs() for name in plan.profiles))
    models, _ = catalog.models.for_needs(needs)
    is_seen = None if models.scorer is None else models.scorer.manifest.is_seen
    return Facets(documents_of(catalog, sorted(wanted)), is_seen)


def documents_of(catalog: Catalog, ids: Sequence[str]) -> list[ApiDocument]:
    """Of all of these, whoever may see them: a judgement names what nobody may see, too."""
    found = catalog.engine.fetch(ids, Filter())
    missing = set(ids) - {document.id for document in found}
    live = catalog.engine.live()
    if missing and live:
        everything = (item.document for item in catalog.engine.documents(live[0]))
        found += [document for document in everything if document.id in missing]
    return found


def _hashes(catalog: Catalog) -> list[tuple[str, str]]:
    index, _ = catalog.live()
    return list(catalog.engine.hashes(index))


def _provenance(judged: Judged, systems: Mapping[str, CatalogSystem], plan: Plan) -> Provenance:
    return Provenance(
        digest=digest_of(judged.queries),
        requests=judged.requests,
        cutoffs=plan.sampling.cutoffs,
        seed=plan.sampling.seed,
        resamples=plan.sampling.resamples,
        catalog=_digest(msgspec.json.encode(_hashes(judged.catalog))),
        models=dict(judged.catalog.models.identities()),
        profiles={name: _digest(msgspec.json.encode(system.profile)) for name, system in systems.items()},
    )


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
