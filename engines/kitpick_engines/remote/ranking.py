"""One search on a server: its search bodies, and two rankings with exact scores from its answers.

The server's own scores depend on all documents, also on invisible and replaced ones. Here BM25F is computed
with the statistics of the visible documents, as the server counted them for this request, and inner products
in float64 from the vectors as they were written. So equal catalogs give equal rankings, and a score reveals
nothing about documents that its reader may not see. Only the choice of the documents that are scored, at the
end of a long list, is the server's.

What the server counted of one committed state is kept: it never changes, and counting takes time. How many
documents a filter shows, how many words they have, and how many of them hold a term: these numbers are asked
for once for each state and filter, and are never part of an answer to another filter.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import (
    Candidate,
    Filter,
    Place,
    SearchRequest,
    Vector,
    by_best_rank,
    checked_vector,
)
from kitpick_engines.lexical import FIELDS, Postings, Visible, bm25f, term_scores
from kitpick_engines.remote.queries import MAX_WINDOW, CommittedIndex, holding
from kitpick_engines.remote.server import Json, ServerDialect
from kitpick_engines.remote.sources import CANDIDATE_FIELDS, candidate_of, vector_of
from kitpick_foundation.forks import fork_lock

_SURPLUS = 16
"""Hits beyond the wanted ones, because the server's scores are rounded."""
_NEIGHBOURS = 2
"""For each wanted hit: nearest vectors that the server looks for. It finds the first half of them surely."""
_WORDS = 1.5
"""For each wanted hit: hits by words, whose scores on the server do not know the true lengths."""
_WIDENED = 4
_EQUAL = 1e-6
"""Scores that differ by less, for a query of length 1, the server may not tell apart."""


class RankingSearch:
    """The searches of one request. The server returns a window of more hits than wanted; the best are kept.

    Where the window ends among documents of equal scores it is widened, so that the ids decide, not chance.
    """

    def __init__(
        self,
        request: SearchRequest,
        terms: Sequence[str],
        dialect: ServerDialect,
        weights: NDArray[np.float64],
    ) -> None:
        self._request = self._asked = request
        self.terms = terms
        self._dialect = dialect
        self._weights = weights
        self._widened = 1

    def question(self, live: CommittedIndex, shown: Json) -> list[Json]:
        """Search bodies for a state and the query for what is visible in it.

        Raises:
            InvalidVector: the query vector has the wrong length or is not finite.
        """
        searches: list[Json] = []
        self._asked = self._request.over(live.schema)
        if self._asked.vector is not None:
            searches.append(self._nearest(live, shown))
        if self.terms:
            searches.append(holding(self.terms, shown, self._window(_WORDS), CANDIDATE_FIELDS))
        return searches

    def candidates(self, answers: Sequence[Json], counts: Counts) -> list[Candidate] | None:
        """Candidates of both rankings, best rank of either first, ties by id; None: ask again.

        Args:
            answers: to the searches of the last question.
            counts: of what is visible, with all of the terms.
        """
        sources: dict[str, Json] = {}
        dense: Places = {}
        lexical: Places = {}
        if self._asked.vector is not None:
            found = _by_id(answers[0], sources)
            vectors = [vector_of(each) for each in found]
            dense = dense_places(found, vectors, self._asked.vector)
            answers = answers[1:]
        if self.terms:
            found = _by_id(answers[0], sources)
            lexical = lexical_places(found, counts, self.terms, self._weights)
        if self._is_cut_in_a_tie(dense, 1) or self._is_cut_in_a_tie(lexical, _WORDS):
            self._widened *= _WIDENED
            return None
        return _together(sources, self._cut(lexical), self._cut(dense))

    def _nearest(self, live: CommittedIndex, shown: Json) -> Json:
        assert self._asked.vector is not None
        query = checked_vector(self._asked.vector, live.schema.dimensions).astype(np.float64)
        unit = (query / (np.linalg.norm(query) or 1.0)).astype(np.float32)
        body = {"size": self._window(1), "track_total_hits": False, "_source": list(CANDIDATE_FIELDS)}
        return body | self._dialect.nearest(unit, self._window(_NEIGHBOURS), shown)

    def _window(self, factor: float) -> int:
        return min(self._widened * (int(factor * self._request.size) + _SURPLUS), MAX_WINDOW)

    def _is_cut_in_a_tie(self, places: Places, factor: float) -> bool:
        window = self._window(factor)
        if not self._request.size <= window <= len(places) or window == MAX_WINDOW:
            return False
        ranked = list(places.values())
        last_kept, last = ranked[self._request.size - 1].score, ranked[-1].score
        return last_kept - last <= _EQUAL * max(1.0, abs(last_kept))

    def _cut(self, places: Places) -> Places:
        return dict(list(places.items())[: self._request.size])


class Rankings:
    """The searches of several requests, of one state, in as many round trips as the slowest of them needs.

    The query for what is visible can have megabytes and stands in each search, so one search counts the
    terms of all requests.

    Args:
        rankings: one a request; None for one that asks nothing.
        wanted: the filter of all requests.
        counted: what was counted before.
    """

    def __init__(self, rankings: Sequence[RankingSearch | None], wanted: Filter, counted: CountCache) -> None:
        self.open = {number: each for number, each in enumerate(rankings) if each is not None}
        """Unanswered requests, by number."""
        self.found: list[list[Candidate]] = [[] for _ in rankings]
        """Candidates by request."""
        self._wanted = wanted
        self._counted = counted
        self._counts = Counts()
        self._asked: dict[int, list[Json]] = {}

    def question(self, live: CommittedIndex) -> list[Json]:
        """Search bodies for a state, of all that are open; the counting one is the last."""
        shown = live.visible(self._wanted)
        self._asked = {number: each.question(live, shown) for number, each in self.open.items()}
        self._counts = self._counted.known(live, self._wanted)
        terms = self._terms
        counting = self._counts.question(terms, shown) if terms else None
        searches = [body for bodies in self._asked.values() for body in bodies]
        return [*searches, counting] if counting else searches

    def take(self, live: CommittedIndex, answers: Sequence[Json]) -> None:
        """Passes the answers to every open request."""
        start = 0
        counting = answers[sum(map(len, self._asked.values())) :]
        for answer in counting:
            self._counts = self._counts.with_answer(self._terms, answer)
            self._counted.keep(live, self._wanted, self._counts)
        for number, bodies in self._asked.items():
            found = self.open[number].candidates(answers[start : start + len(bodies)], self._counts)
            start += len(bodies)
            if found is not None:
                self.found[number] = found
                del self.open[number]

    @property
    def _terms(self) -> list[str]:
        """Those of all open requests, each once."""
        return list(dict.fromkeys(term for each in self.open.values() for term in each.terms))


def stored_hits(answer: Json) -> list[Json]:
    """The stored sources of the hits."""
    return [hit["_source"] for hit in answer["hits"]["hits"]]


def _by_id(answer: Json, sources: dict[str, Json]) -> list[Json]:
    """The sources of the hits, which are also kept by id."""
    found = stored_hits(answer)
    sources |= {each["id"]: each for each in found}
    return found


def _together(sources: dict[str, Json], lexical: Places, dense: Places) -> list[Candidate]:
    return [
        msgspec.structs.replace(candidate_of(sources[each]), lexical=lexical.get(each), dense=dense.get(each))
        for each in by_best_rank(lexical, dense)
    ]


_FILTERS = 256
_TERMS = 20_000


class Counts(NamedTuple):
    """Document counts of one filter and one state: in all, and by term."""

    documents: int = 0
    words: tuple[float, ...] = ()
    """Sums by field, in the order of `FIELDS`; empty before anything was counted."""
    holders: dict[str, int] = {}  # noqa: RUF012 - never changed, only replaced
    """Documents that hold a term."""

    def missing(self, terms: Sequence[str]) -> list[str]:
        """Terms without a count."""
        return [term for term in terms if term not in self.holders]

    def question(self, terms: Sequence[str], shown: Json) -> Json | None:
        """A search that counts the missing terms, None if there are none."""
        uncounted = self.missing(terms)
        if self.words and not uncounted:
            return None
        totals = {} if self.words else {name: {"sum": {"field": f"lengths.{name}"}} for name in FIELDS}
        filters = {str(number): {"term": {"words": term}} for number, term in enumerate(uncounted)}
        holders: Json = {"holders": {"filters": {"filters": filters}}} if filters else {}
        return {"size": 0, "track_total_hits": True, "query": shown, "aggs": {**totals, **holders}}

    def with_answer(self, terms: Sequence[str], answer: Json) -> Counts:
        """These numbers and those of the answer to `question` for the same terms."""
        counted = answer["aggregations"]
        holders = dict(self.holders)
        for number, term in enumerate(self.missing(terms)):
            holders[term] = int(counted["holders"]["buckets"][str(number)]["doc_count"])
        if self.words:
            return self._replace(holders=holders)
        words = tuple(float(counted[name]["value"]) for name in FIELDS)
        return Counts(int(answer["hits"]["total"]["value"]), words, holders)

    def bounded(self) -> Counts:
        """The counts for the cache: without terms if there are too many."""
        return self if len(self.holders) <= _TERMS else self._replace(holders={})


class CountCache:
    """The counts of the states and filters that were asked for last. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._kept: OrderedDict[tuple[CommittedIndex, Filter], Counts] = OrderedDict()

    def known(self, live: CommittedIndex, wanted: Filter) -> Counts:
        """The counts of a state and a filter so far."""
        with self._lock:
            return self._kept.get((live, wanted), Counts())

    def keep(self, live: CommittedIndex, wanted: Filter, counts: Counts) -> None:
        """Stores counts. Those of another thread may be lost, and are then counted again."""
        with self._lock:
            self._kept[live, wanted] = counts.bounded()
            self._kept.move_to_end((live, wanted))
            while len(self._kept) > _FILTERS:
                self._kept.popitem(last=False)


Places = dict[str, Place]
"""Places by document id, best first."""


def lexical_places(
    sources: Sequence[Json], counts: Counts, terms: Sequence[str], weights: NDArray[np.float64]
) -> Places:
    """All hits by BM25F.

    Args:
        sources: of the hits: id, counts of the terms, lengths by field.
        counts: of what is visible, with all of the terms.
        terms: of the request, in alphabetical order.
        weights: by field (fields,).
    """
    if not sources or not counts.documents:
        return {}
    averages = np.maximum(np.array(counts.words) / counts.documents, 1e-9)
    shown = Visible(np.ones(len(sources), dtype=bool), counts.documents, averages)
    lengths = np.array([[source["lengths"][name] for name in FIELDS] for source in sources], np.float64)
    held: dict[str, list[tuple[int, list[int]]]] = {term: [] for term in terms}
    for position, source in enumerate(sources):
        for term, by_field in source.get("counts", {}).items():
            if term in held:
                held[term].append((position, by_field))
    postings = (_postings(hits, lengths, counts.holders[term]) for term, hits in held.items() if hits)
    scores = bm25f((term_scores(each, shown, weights) for each in postings), len(sources))
    return _places([source["id"] for source in sources], scores)


def dense_places(sources: Sequence[Json], vectors: Sequence[Vector], query: Vector) -> Places:
    """All hits by inner product with a query of any length."""
    if not sources:
        return {}
    length = float(np.linalg.norm(query.astype(np.float64)))
    unit = query.astype(np.float64) / (length or 1.0)
    scores = (np.stack(vectors).astype(np.float64) * unit).sum(axis=1) * length
    return _places([source["id"] for source in sources], scores)


def _postings(held: Sequence[tuple[int, list[int]]], lengths: NDArray[np.float64], holders: int) -> Postings:
    """Of the hits that hold a term: their positions, and how often it stands in each field."""
    by_field = np.array([each for _, each in held], np.float64)
    hits, fields = np.nonzero(by_field)
    positions = np.array([position for position, _ in held], np.int64)[hits]
    return Postings(
        positions, fields.astype(np.int8), by_field[hits, fields], lengths[positions, fields], holders
    )


def _places(ids: Sequence[str], scores: NDArray[np.float64]) -> Places:
    order = sorted(range(len(ids)), key=lambda position: (-scores[position], ids[position]))
    return {ids[position]: Place(rank, float(scores[position])) for rank, position in enumerate(order, 1)}
