"""Evaluation: loads a dataset into a catalog of its own, and asks every profile its requests.

It also measures the time of searches and abstention. A catalog that cannot be read raises `EngineError`, an
empty one `EmptyCatalog`, an unknown profile `RescorerError`; requests that do not fit `EvaluationError`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import numpy as np

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.evaluation.systems import HITS, CatalogSystem
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import AbstentionQuality, abstention_quality, can_abstain
from kitpick_evaluation.answer import Answer, Ranker
from kitpick_evaluation.comparison import pair_tests
from kitpick_evaluation.dataset import JudgedQuery, check_dataset, check_queries, select
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.evaluate import Sampling, evaluate
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.metrics import check_cutoffs
from kitpick_evaluation.report import Cost, Provenance, Report, Timing, digest_of
from kitpick_ingest.progress import Progress
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages import Requirement

TIMED = 20
"""Requests of which the time is taken: enough for a median, and a fraction of the run."""


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Options of an evaluation: profiles, figures, sampling."""

    profiles: tuple[str, ...]
    limit: int | None = None
    """Largest number of requests to ask, spread evenly; None for all."""
    sampling: Sampling = Sampling()
    timed: int = TIMED
    """Number of requests to time; 0 for none."""
    permitted: Filter = Filter()
    tested: tuple[str, ...] = ()
    """Figures by which the first profile is tested against each other one."""
    hits: int = HITS
    """Number of definitions that are handed to a model."""


class Judged(msgspec.Struct, frozen=True):
    """A catalog with judged requests."""

    catalog: Catalog
    name: str
    queries: tuple[JudgedQuery, ...]
    """Requests with right answers."""
    requests: int
    """How many there were to choose from."""
    facets: Facets
    unanswerable: tuple[JudgedQuery, ...] = ()
    """Requests of which somebody judged that nothing in the catalog does what they ask."""

    @property
    def asked(self) -> tuple[JudgedQuery, ...]:
        """All requests."""
        return (*self.queries, *self.unanswerable)


@contextmanager
def judged_dataset(name: str, data: Path, plan: Plan, progress: Progress) -> Iterator[Judged]:
    """A dataset in a catalog beside the embedding cache; only changes since the last time are ingested.

    Raises:
        EvaluationError: no such dataset, or a broken one.
        IngestError, EngineError, ModelError: it cannot be taken into a catalog.
    """
    settings = Settings()
    dataset = check_dataset(open_dataset(name, data))
    place = settings.embedding_cache.parent / "evaluation" / f"{dataset.name}.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    with Catalog.open(f"sqlite:{place}", settings=settings) as catalog:
        catalog.ingest(dataset.source, progress=progress)
        yield _judged(catalog, dataset.name, dataset.queries, plan)


def judged_queries(catalog: Catalog, queries: Path, plan: Plan) -> Judged:
    """Judged requests over a catalog as it stands."""
    judged = queries_file(queries)
    check_queries(queries.name, judged, {id_ for id_, _ in _hashes(catalog)}, unanswerable=True)
    return _judged(catalog, queries.name, judged, plan)


def measure(judged: Judged, plan: Plan, progress: Progress) -> Report:
    """Runs every request by every profile, and measures abstention if a profile can abstain.

    Raises:
        EvaluationError: a profile could not run in full, or a k is too large.
        RescorerError: no such profile.
    """
    check_cutoffs(plan.sampling.cutoffs, len(_hashes(judged.catalog)))
    systems = open_systems(judged.catalog, plan)
    answered: dict[str, list[Answer]] = {name: [] for name in systems}
    with progress.phase("evaluate", len(judged.queries)) as advance:
        evaluation = evaluate(
            judged.queries,
            {name: ranker_of(system) for name, system in systems.items()},
            judged.facets,
            sampling=plan.sampling,
            observe=lambda name, _, answer: answered[name].append(answer),
            advance=advance,
        )
    abstention = _abstention(judged, systems, answered, plan, progress)
    timed = select(judged.queries, plan.timed) if plan.timed else ()
    with progress.phase("time", len(timed)) as advance:
        taken = timings(systems, timed, max(plan.sampling.cutoffs), advance)
    counter = DefinitionTokens().counter.name
    return Report(
        complete=True,
        dataset=judged.name,
        queries=len(judged.asked),
        provenance=_provenance(judged, systems, plan),
        rows=evaluation.rows,
        costs=tuple(Cost(name, plan.hits, tokens, counter) for name, tokens in evaluation.tokens.items()),
        abstention=abstention,
        timings=taken,
        differences=pair_tests(evaluation.figures, plan.tested, plan.sampling.seed),
    )


def open_systems(catalog: Catalog, plan: Plan) -> dict[str, CatalogSystem]:
    """The profiles of a plan as systems, by name, in order."""
    tokens = DefinitionTokens()
    return {
        name: CatalogSystem(catalog, load_profile(name), tokens, permitted=plan.permitted, hits=plan.hits)
        for name in dict.fromkeys(plan.profiles)
    }


def ranker_of(system: CatalogSystem) -> Ranker:
    """The system as a function of the text of a request."""
    return lambda query, k: system.ask(query.text, k)


def _abstention(
    judged: Judged,
    systems: Mapping[str, CatalogSystem],
    answered: Mapping[str, Sequence[Answer]],
    plan: Plan,
    progress: Progress,
) -> tuple[AbstentionQuality, ...]:
    """Abstention on requests without an answer; if there are none, on the others with their tools hidden."""
    able = {name: system for name, system in systems.items() if can_abstain(system.profile)}
    deprived: dict[str, list[Answer]] = {name: [] for name in able}
    if not able:
        return ()
    asked, k = judged.unanswerable or judged.queries, max(plan.sampling.cutoffs)
    with progress.phase("abstain", len(asked)) as advance:
        for query in asked:
            hidden = frozenset(judged.facets.tool(api) for api in query.relevant)
            for name, system in able.items():
                answer = system.ask_without(query.text, k, hidden) if hidden else system.ask(query.text, k)
                deprived[name].append(answer)
            advance(1)
    return tuple(abstention_quality(name, answered[name], deprived[name]) for name in able)


def _judged(catalog: Catalog, name: str, queries: Sequence[JudgedQuery], plan: Plan) -> Judged:
    chosen = select(queries, plan.limit)
    answerable = tuple(query for query in chosen if query.relevant)
    if not answerable:
        raise InvalidDataset(
            f"{name}: none of the {len(chosen)} requests has a relevant API: there is nothing to find"
        )
    return Judged(
        catalog,
        name,
        answerable,
        len(queries),
        _facets(catalog, answerable, plan),
        unanswerable=tuple(query for query in chosen if not query.relevant),
    )


def _facets(catalog: Catalog, queries: Sequence[JudgedQuery], plan: Plan) -> Facets:
    wanted = {api for query in queries for api in query.relevant}
    needs = frozenset[Requirement]().union(*(load_profile(name).needs() for name in plan.profiles))
    models, _ = catalog.models.for_needs(needs)
    is_seen = None if models.scorer is None else models.scorer.manifest.is_seen
    return Facets(documents_of(catalog, sorted(wanted)), is_seen)


def documents_of(catalog: Catalog, ids: Sequence[str]) -> list[ApiDocument]:
    """The documents of these ids, without regard to permissions: judgements may name any API."""
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
        digest=digest_of(judged.asked),
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


def timings(
    systems: Mapping[str, CatalogSystem],
    queries: Sequence[JudgedQuery],
    k: int,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Timing, ...]:
    """Median and 95th percentile of searches for these requests, the systems in turn.

    Query vectors and cross-encoder scores are forgotten before every search; the first search of each system
    warms it up and does not count.
    """
    spent: dict[str, list[float]] = {name: [] for name in systems}
    if not queries:
        return ()
    for system in systems.values():
        _milliseconds(system, queries[0].text, k)
    for query in queries:
        for name, system in systems.items():
            spent[name].append(_milliseconds(system, query.text, k))
        advance(1)
    return tuple(
        Timing(name, len(taken), float(np.median(taken)), float(np.quantile(taken, 0.95)))
        for name, taken in spent.items()
    )


def _milliseconds(system: CatalogSystem, request: str, k: int) -> float:
    system.catalog.models.forget()
    started = time.perf_counter()
    system.search(request, k)
    return (time.perf_counter() - started) * 1e3


def visible_apis(judged: Judged, permitted: Filter) -> frozenset[str]:
    """Those right APIs of the requests that whoever asks may see."""
    relevant = sorted({api for query in judged.queries for api in query.relevant})
    return frozenset(document.id for document in judged.catalog.engine.fetch(relevant, permitted))
