"""The catalog of a set with one choice of models. It answers by any profile, also with tools hidden."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import chain, zip_longest
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from battery.sets import BatteryRequest, BatterySet
from battery.stores import LogitFile, RememberingEncoder, RememberingScorer
from kitpick.adaptation.request_vectors import choose_vectors
from kitpick_engines.contract import Candidate, Engine, Filter, SearchRequest, Sentence, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.opening import open_engine
from kitpick_engines.sentences import sentences_of
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_evaluation.abstention import (
    can_abstain,
    cohort_requests,
    cohort_threshold,
    fit_to_requests,
    judges_lists,
    undecided,
    with_threshold,
)
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.recording import Recorded
from kitpick_ingest.embedder import Embedder, EmbeddingCache
from kitpick_ingest.progress import NullProgress, Progress
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sync import SyncOptions, sync
from kitpick_rescorers.models import LearnedFusion, Models, QueryKind
from kitpick_rescorers.pipeline import in_rounds, rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.scoring import ScoreCache, Scorer
from kitpick_rescorers.search import Query
from kitpick_rescorers.state import faults

TOP = 5
DEPTH = 50
"""How deep the first stage is judged."""
_MAX_SIBLINGS = 500
"""APIs of the tools that a stage wants to see, as a search fetches them."""
_NOBODY = Filter()


class LoadedModels(msgspec.Struct, frozen=True, eq=False):
    """The models that rank."""

    label: str
    encoder: Embedder
    scorer: Scorer | None
    query_kind: QueryKind | None
    ranker: LearnedFusion | None = None

    def remembering(self, cache: EmbeddingCache, logits: LogitFile) -> LoadedModels:
        """The same models with these files as caches."""
        return replace(
            self,
            encoder=RememberingEncoder(self.encoder, cache),
            scorer=None if self.scorer is None else RememberingScorer(self.scorer, logits),
        )


class RequestOutcome(msgspec.Struct, frozen=True):
    """The answer of one profile to one request, without ids that are neither right nor wrong."""

    request: BatteryRequest
    ids: tuple[str, ...]
    """The first five."""
    probabilities: tuple[float | None, ...]
    """Of these five, in [0, 1]; None where the cross-encoder did not score."""
    first_stage: tuple[str, ...]
    """The first fifty of the order after the first stage of the profile."""
    abstained: bool
    abstained_without: bool | None = None
    """Asked of a catalog without the tools that do the job; None where the profile cannot abstain."""


class SetSource:
    """The documents of a set as a source. `sync` leaves out those that no engine can hold."""

    def __init__(self, name: str, documents: Sequence[ApiDocument]) -> None:
        self.name = name
        self._documents = documents

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """Every document, owned by this source."""
        for document in self._documents:
            yield replace(document, source=self.name)


class SetSystem:
    """The catalog of a set, and the models that rank it."""

    def __init__(self, battery_set: BatterySet, engine: Engine, models: LoadedModels) -> None:
        self.set = battery_set
        self.models = models
        self._engine = engine
        self._tools = {document.id: document.tool_key for document in battery_set.documents}

    def asked(self, text: str, size: int, matrix: RequestMatrix | None = None) -> RescoreRequest:
        """A request with the candidates of all rankings; a profile drops those of rankings without weight."""
        model = self.models.encoder.identity
        query = Query(text, self._vector(text), model, self._sentences(text)).turned(matrix)
        candidates = self._engine.search(SearchRequest(text, query.vector, size, _NOBODY, query.sentences))
        return RescoreRequest(text, candidates, query.vector, DEPTH, vector_model=model)

    def outcome(self, request: BatteryRequest, asked: RescoreRequest, profile: Profile) -> RequestOutcome:
        """The answer of a profile, also on the catalog without the tools that do the job.

        Raises:
            EvaluationError: the profile could not run in full.
        """
        answer = self.ranked(asked, profile)
        hits = [hit for hit in answer.results if hit.id not in request.also]
        order = answer.trace[0].order if answer.trace else tuple(hit.id for hit in answer.results)
        without = self.ranked(asked, profile, self.doing(request)) if can_abstain(profile) else None
        return RequestOutcome(
            request,
            tuple(hit.id for hit in hits[:TOP]),
            tuple(hit.probability for hit in hits[:TOP]),
            tuple(id_ for id_ in order if id_ not in request.also)[:DEPTH],
            answer.abstained,
            None if without is None else without.abstained,
        )

    def outcome_of_steps(self, request: BatteryRequest, profile: Profile, size: int) -> RequestOutcome:
        """What capabilities find, each asked by itself: the best of each, then the second of each.

        A capability that nothing fits finds nothing, as for an agent. No probability is of the joint list.

        Raises:
            EvaluationError: the profile could not run in full.
        """
        answers = [self.ranked(self.asked(step, size), profile) for step in request.steps]
        found = [[hit.id for hit in each.results] for each in answers if not each.abstained]
        ids = _in_turn(found, request.also)[:TOP]
        first = _in_turn([each.trace[0].order for each in answers if each.trace], request.also)
        unknown = (None,) * len(ids)
        return RequestOutcome(request, tuple(ids), unknown, tuple(first[:DEPTH]), abstained=not found)

    def cohort(self) -> list[BatteryRequest]:
        """Descriptions of APIs of the catalog, as requests for them."""
        asked = cohort_requests(self.set.documents)
        return [BatteryRequest(f"cohort {each.api}", each.text, frozenset({each.api})) for each in asked]

    def adapted(self, profile: Profile, size: int) -> Profile | None:
        """The profile with the threshold that the catalog's cohort gives; None where it takes none.

        Raises:
            EvaluationError: the profile could not run in full.
        """
        margin = None if self.models.ranker is None else self.models.ranker.cohort_margin
        if margin is None or not judges_lists(profile):
            return None
        answers = [
            self.ranked(self.asked(each.text, size), profile, self.doing(each)) for each in self.cohort()
        ]
        judged = [each.answerable for each in answers if each.answerable is not None]
        return with_threshold(profile, cohort_threshold(judged, margin)) if judged else None

    def adapted_to(
        self, requests: Sequence[BatteryRequest], profiles: Sequence[Profile], size: int, folder: Path
    ) -> list[Profile]:
        """The profiles as `kitpick adapt` makes them of judged requests, the last one with a threshold.

        The matrix, if one helps the last profile, is written into the folder.

        Raises:
            EvaluationError: a profile could not run in full.
        """
        fetcher = _VisibleFetcher(self._engine, frozenset())

        def record(matrices: Sequence[RequestMatrix | None]) -> list[Recorded]:
            return [
                Recorded.of(
                    JudgedQuery(each.id, each.text, each.relevant),
                    self.asked(each.text, size, matrix),
                    fetcher,
                )
                for each, matrix in zip(requests, matrices, strict=True)
            ]

        models = Models(self.models.scorer, self.models.query_kind, ScoreCache(), ranker=self.models.ranker)
        plain, last = record([None] * len(requests)), profiles[-1]
        chosen = choose_vectors(plain, record, last, models, Facets(self.set.documents), NullProgress())
        recorded = plain if chosen is None else chosen.recorded
        last = last if chosen is None else chosen.profile
        answers = [item.answer(undecided(last), models, TOP) for item in recorded]
        found = [*profiles[:-1], fit_to_requests(last, answers)]
        if chosen is None or chosen.matrix is None:
            return found
        content = chosen.matrix.encoded()
        file = folder / f"{hashlib.blake2b(content, digest_size=8).hexdigest()}.npz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        first = replace(last.first_stage, request_matrix=str(file))
        return [replace(each, first_stage=first) for each in found]

    def ranked(self, asked: RescoreRequest, profile: Profile, hidden: Set[str] = frozenset()) -> Rescored:
        """The answer of a profile, as if the catalog did not hold the APIs of the hidden tools (keys).

        Raises:
            EvaluationError: the profile could not run in full.
        """
        visible = [candidate for candidate in asked.candidates if candidate.tool_key not in hidden]
        # As in a search: a second round of one request pays only for what is new, and the next one for all.
        models = Models(self.models.scorer, self.models.query_kind, ScoreCache(), ranker=self.models.ranker)
        fetcher = _VisibleFetcher(self._engine, hidden)
        request = replace(asked, candidates=visible)
        answer, _ = in_rounds(fetcher, request, lambda larger: rescore(larger, profile, models))
        if found := faults(answer.degraded):
            what = "; ".join(f"{each.stage}: {each.reason}" for each in found)
            raise EvaluationError(f"{self.set.name}, {profile.name}: {what}")
        return answer

    def milliseconds(self, text: str, profile: Profile) -> float:
        """Processor time of a whole search, from the text to the ranking, all threads added up.

        The models must have no cache.
        """
        started = time.process_time()
        needs = profile.needs()
        size = profile.first_stage.size_for(TOP)
        vector = self._vector(text) if profile.needs_vector else None
        sentences = self._sentences(text) if "sentence" in needs else ()
        words = text if "lexical" in needs else ""
        candidates = self._engine.search(SearchRequest(words, vector, size, _NOBODY, sentences))
        self.ranked(RescoreRequest(text, candidates, vector, TOP), profile)
        return (time.process_time() - started) * 1e3

    def doing(self, request: BatteryRequest) -> frozenset[str]:
        """The tools (keys) that can answer the request."""
        return frozenset(self._tools[id_] for id_ in request.relevant | request.also)

    def _vector(self, text: str) -> Vector:
        vector: Vector = self.models.encoder.encode([text])[0]
        return vector

    def _sentences(self, text: str) -> tuple[Sentence, ...]:
        parts = sentences_of(text)
        vectors = self.models.encoder.encode(parts) if parts else ()
        return tuple(Sentence(part, vector) for part, vector in zip(parts, vectors, strict=True))


def _in_turn(lists: Sequence[Sequence[str]], left_out: Set[str]) -> list[str]:
    """Every id once: the first of each list, then the second of each."""
    rows = chain.from_iterable(zip_longest(*lists))
    return list(dict.fromkeys(id_ for id_ in rows if id_ is not None and id_ not in left_out))


class _VisibleFetcher:
    """Fetches documents of tools that are not hidden."""

    def __init__(self, engine: Engine, hidden: Set[str]) -> None:
        self._engine = engine
        self._hidden = hidden

    def apis_of_tools(self, tools: Sequence[str]) -> list[Candidate]:
        """All APIs of these tools."""
        seen = [tool for tool in tools if tool not in self._hidden]
        return self._engine.apis_of_tools(seen, _NOBODY, _MAX_SIBLINGS)

    def neighbours(self, vector: Vector, k: int) -> list[Candidate]:
        """The k nearest documents, without those of hidden tools."""
        found = self._engine.neighbours(vector, k, _NOBODY)
        return [candidate for candidate in found if candidate.tool_key not in self._hidden]


@contextmanager
def open_set(
    battery_set: BatterySet, models: LoadedModels, folder: Path, cache: EmbeddingCache, progress: Progress
) -> Iterator[Engine]:
    """The catalog of a set as an engine, embedded once for its documents, the encoder and the text template.

    Raises:
        IngestError, EngineError, ModelError: it cannot be embedded or written.
    """
    place = folder / "catalogs" / f"{battery_set.catalog}-{_digest(battery_set, models.encoder)}.db"
    place.parent.mkdir(parents=True, exist_ok=True)
    engine = open_engine(f"sqlite:{place}")
    try:
        held = engine.stats()
        if held is None or held.documents < len(battery_set.documents):
            source = SetSource(battery_set.catalog, battery_set.documents)
            report = sync(
                source, engine, models.encoder, cache, SyncOptions(locks=folder / "locks"), progress
            )
            if report.dead_letters:
                raise EvaluationError(
                    f"{battery_set.name}: {report.dead_letters} documents cannot be taken in"
                )
        yield engine
    finally:
        engine.close()


def _digest(battery_set: BatterySet, encoder: Embedder) -> str:
    digest = hashlib.blake2b(f"{encoder.identity} {TEMPLATE_VERSION}".encode(), digest_size=8)
    for document in battery_set.documents:
        digest.update(document.content_hash.encode())
    return digest.hexdigest()


def median_milliseconds(
    system: SetSystem, profiles: Mapping[str, Profile], requests: Sequence[BatteryRequest]
) -> dict[str, float]:
    """Median processor time of a search by each profile, the profiles in turn; the first search warms up."""
    spent: dict[str, list[float]] = {name: [] for name in profiles}
    for profile in profiles.values():
        system.milliseconds(requests[0].text, profile)
    for request in requests:
        for name, profile in profiles.items():
            spent[name].append(system.milliseconds(request.text, profile))
    return {name: float(np.median(taken)) for name, taken in spent.items()}
