"""Sample requests and written texts, in files, as voters of a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Filter, Place, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.document_vectors import document_vectors
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.text import rerank_text, storable
from kitpick_rescorers.contracts import QueryEncoder, SearchedIndex, Voted
from kitpick_rescorers.intents.confirmed import confirmed
from kitpick_rescorers.intents.permitted import ApiRanking, PermittedApis
from kitpick_rescorers.intents.store import IntentStore
from kitpick_rescorers.intents.votes import NO_INTENTS, Intents, caller_of, near_samples, trust, vote
from kitpick_rescorers.intents.written import (
    EQUAL,
    NOTHING_WRITTEN,
    TRUST,
    NearTexts,
    WrittenStore,
    written_votes,
)

_BATCH = 256
_RRF = 10.0
_MOST_ADDED = 20
"""Candidates that only votes found: each is embedded while somebody waits."""
_MAX_NEAREST = 1_000
"""Rows that are kept, of the operator and of all clients: of those whose APIs the caller may see."""


class SampleVotes:
    """The votes of the samples in two files: a `kitpick_rescorers.contracts.Voters`."""

    def __init__(self, samples: Path | None, enriched: Path | None) -> None:
        """`samples` is the file of sample requests, `enriched` that of what was written; None without one."""
        self.weights = EQUAL
        self.samples = None if samples is None else IntentStore(samples)
        self.written = None if enriched is None else WrittenStore(enriched)
        """What `kitpick enrich` wrote about the APIs."""
        self._renews = True

    def as_they_are(self) -> SampleVotes:
        """The votes for an encoder that is being replaced: two would embed the samples by turns for ever."""
        other = copy(self)
        other._renews = False
        return other

    def add_votes(
        self,
        candidates: Sequence[Candidate],
        vector: Vector | None,
        permitted: Filter,
        index: SearchedIndex,
        encoder: QueryEncoder,
        request: str = "",
    ) -> Voted:
        """The candidates with their places by the votes of visible samples, and those that only votes found.

        Without a vector of the request nothing is added. Its words count for what was written.

        Raises:
            EngineUnavailable: the samples cannot be read, or an encoder that replaces this one embedded them.
        """
        stores = [store for store in self._stores() if store.path.exists()]
        if vector is None or not stores:
            return Voted(list(candidates))
        for store in stores:
            self._embed_stale(store, encoder)
        votes = self._votes(vector, permitted, index, encoder, request)
        sure = confirmed(votes.intents, votes.rows, request)
        found = [*votes.placed(candidates), *votes.added(candidates, sure, encoder)]
        return Voted(found, votes.trust(candidates), sure)

    def _votes(
        self, vector: Vector, permitted: Filter, index: SearchedIndex, encoder: QueryEncoder, request: str
    ) -> _Votes:
        """What samples and written texts near the request say, of the APIs that the caller may see."""
        intents = self._intents(encoder, permitted.tenant, len(vector))
        written, covered = self._written(request, vector, encoder, permitted)
        apis = PermittedApis(index, permitted)
        ranked = self._ranked(intents, vector, permitted.tenant)
        # The filter comes before the vote: samples of APIs that may not be seen take nobody's place.
        apis.read(api for ranking in (*ranked, *written.rankings) for api in ranking.head)
        rows, near_texts = _first(ranked, apis), written.permitted(apis)
        places = vote(intents, rows, written=written_votes(near_texts, self.weights))
        return _Votes(intents, rows, covered, bool(near_texts), places, apis.documents)

    def _intents(self, encoder: QueryEncoder, tenant: str, dimensions: int) -> Intents:
        """The samples that have a say for a tenant, with vectors of this encoder."""
        if self.samples is None:
            return NO_INTENTS
        return self.samples.of_model(encoder.identity, storable(tenant), dimensions)

    def near(self, intents: Intents, vector: Vector, apis: PermittedApis) -> list[tuple[int, float]]:
        """The nearest rows of samples that have a say for a caller and that they may see, with cosines."""
        return _first(self._ranked(intents, vector, apis.permitted.tenant), apis)

    def _ranked(self, intents: Intents, vector: Vector, tenant: str) -> list[ApiRanking[tuple[int, float]]]:
        """The rows near a request that have a say for a tenant: of the operator, and of clients in turns."""
        near = near_samples(intents, vector)
        counting = [each for each in near if intents.counts_for(each[0], tenant)]
        by_operator = [each for each in counting if not intents.clients[each[0]]]
        by_clients = _in_turns(intents, [each for each in counting if intents.clients[each[0]]])
        return [
            ApiRanking(rows, lambda each: intents.apis[each[0]], _MAX_NEAREST)
            for rows in (by_operator, by_clients)
        ]

    def _stores(self) -> list[IntentStore]:
        kept = (self.samples, None if self.written is None else self.written.samples)
        return [store for store in kept if store is not None]

    def _written(
        self, request: str, vector: Vector, encoder: QueryEncoder, caller: Filter
    ) -> tuple[NearTexts, frozenset[str]]:
        """How near a request is to what was written, and the APIs that have texts."""
        if self.written is None or not self.written.path.exists():
            return NOTHING_WRITTEN, frozenset()
        near = self.written.near(request, vector, encoder.identity, caller)
        return near, self.written.samples.of_model(encoder.identity).covered

    def _embed_stale(self, store: IntentStore, encoder: QueryEncoder) -> None:
        """Embeds a batch of samples of another encoder with every search."""
        stale = store.stale(encoder.identity, _BATCH)
        if stale and not self._renews:
            raise EngineUnavailable(
                "they are embedded by a newer model set: ingest the catalog with that set"
            )
        if stale:
            vectors = encoder.vectors(tuple(intent.request for intent, _ in stale))
            store.embedded(stale, list(vectors), encoder.identity)


def _first(rankings: Sequence[ApiRanking[tuple[int, float]]], apis: PermittedApis) -> list[tuple[int, float]]:
    """The first rows of rankings whose APIs may be seen, nearest first."""
    rows = [each for ranking in rankings for each in ranking.first(apis)]
    return sorted(rows, key=lambda each: (-each[1], each[0]))


def _in_turns(intents: Intents, near: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """The rows of each caller in turn, the nearest first: whoever names many users displaces no other."""
    turns: Counter[tuple[str, str]] = Counter()
    placed: list[tuple[int, tuple[int, float]]] = []
    for each in near:
        caller = intents.tenants[each[0]], caller_of(intents.clients[each[0]])
        placed.append((turns[caller], each))
        turns[caller] += 1
    placed.sort(key=lambda item: item[0])
    return [each for _, each in placed]


class _Votes(NamedTuple):
    """The votes on one request, of the APIs that the caller may see."""

    intents: Intents
    rows: Sequence[tuple[int, float]]
    """Samples near the request, with cosines, nearest first."""
    covered: frozenset[str]
    """APIs that something was written about."""
    texts_are_near: bool
    """Whether any of these texts is near the request."""
    places: Mapping[str, Place]
    """Places of the APIs that got votes, best first."""
    documents: Mapping[str, ApiDocument]
    """Documents of the APIs that are named above, by id."""

    def placed(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """The candidates with their places by votes."""
        unwritten = self._unwritten(candidates) if self.texts_are_near else {}
        places = {**unwritten, **self.places}
        return [replace(item, intent=places.get(item.id)) for item in candidates]

    def _unwritten(self, candidates: Sequence[Candidate]) -> dict[str, Place]:
        """Dense places of candidates that nothing was written about: they lose none for that."""
        covered = self.intents.covered | self.covered
        return {
            item.id: item.dense for item in candidates if item.dense is not None and item.id not in covered
        }

    def added(
        self, candidates: Sequence[Candidate], sure: Iterable[str], encoder: QueryEncoder
    ) -> list[Candidate]:
        """Candidates that only votes found, the confirmed ones first, embedded now."""
        known = {item.id for item in candidates}
        wanted = [key for key in dict.fromkeys((*sure, *self.places)) if key not in known]
        missing = [self.documents[key] for key in wanted[:_MOST_ADDED]]
        if not missing:
            return []
        # One by one: what is asked with few texts is remembered, and the next search has it.
        vectors = [vector for each in missing for vector in document_vectors([each], encoder.vectors)]
        return [
            _candidate(document, vector, self.places.get(document.id))
            for document, vector in zip(missing, vectors, strict=True)
        ]

    def trust(self, candidates: Sequence[Candidate]) -> float:
        """How far to trust the places: the more of the leading candidates have samples or texts, the more."""
        order, samples = _order(candidates), self.intents.covered
        return max(trust(order, samples), TRUST * trust(order, samples | self.covered))


def _order(candidates: Sequence[Candidate]) -> list[str]:
    """Ids by reciprocal rank over both rankings, best first."""

    def worth(item: Candidate) -> float:
        places = [place.rank for place in (item.lexical, item.dense) if place is not None]
        return sum(1 / (_RRF + rank) for rank in places)

    return [item.id for item in sorted(candidates, key=lambda item: (-worth(item), item.id))]


def _candidate(document: ApiDocument, vector: Vector, place: Place | None) -> Candidate:
    return Candidate(
        id=document.id,
        category=document.category,
        tool=document.tool,
        api=document.api,
        text=rerank_text(document),
        vector=vector,
        intent=place,
        deprecated=document.deprecated,
        effect=document.effect,
    )
