"""One search: what is asked of the server, and how its answers become two rankings."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Candidate, SearchRequest
from toolrank_engines.remote.counting import CountCache, Counts
from toolrank_engines.remote.dialect import Dialect
from toolrank_engines.remote.queries import MAX_WINDOW, holding, visible
from toolrank_engines.remote.reading import Live
from toolrank_engines.remote.scoring import Places, dense_places, lexical_places
from toolrank_engines.remote.server import Json
from toolrank_engines.remote.sources import CANDIDATE_FIELDS, candidate_of, vector_of
from toolrank_engines.vectors import checked

_SURPLUS = 16
_WIDENED = 4
_EQUAL = 1e-6
"""Scores that differ by less, for a query of length 1, the server may not tell apart."""


class Ranking:
    """The searches of one request. The server gives a window of more than is wanted; the best of it are kept.

    Where the window ends among documents of equal scores it is widened, so that the ids decide, not chance.
    """

    def __init__(
        self,
        request: SearchRequest,
        terms: Sequence[str],
        dialect: Dialect,
        weights: NDArray[np.float64],
        counted: CountCache,
    ) -> None:
        self._request = request
        self._terms = terms
        self._dialect = dialect
        self._weights = weights
        self._counted = counted
        self._counts = Counts()
        self._window = min(2 * request.size + _SURPLUS, MAX_WINDOW)

    def question(self, live: Live) -> list[Json]:
        """Search bodies for a state.

        Raises:
            InvalidVector: the query vector has the wrong length or is not finite.
        """
        shown = visible(self._request.filter, live.state)
        searches: list[Json] = []
        if self._request.vector is not None:
            searches.append(self._nearest(live, shown))
        if self._terms:
            searches.append(holding(self._terms, shown, self._window, CANDIDATE_FIELDS))
            self._counts = self._counted.known(live, self._request.filter)
            counting = self._counts.question(self._terms, shown)
            searches += [counting] if counting else []
        return searches

    def candidates(self, live: Live, answers: Sequence[Json]) -> list[Candidate] | None:
        """Candidates of both rankings, best rank of either first, ties by id; None: ask again.

        Args:
            live: the state that the last question was asked for.
            answers: to its searches.
        """
        sources: dict[str, Json] = {}
        dense: Places = {}
        lexical: Places = {}
        if self._request.vector is not None:
            found = _by_id(answers[0], sources)
            vectors = [vector_of(each) for each in found]
            dense = dense_places(found, vectors, self._request.vector)
            answers = answers[1:]
        if self._terms:
            found = _by_id(answers[0], sources)
            lexical = lexical_places(found, self._all_counts(live, answers[1:]), self._terms, self._weights)
        if self._is_cut_in_a_tie(dense) or self._is_cut_in_a_tie(lexical):
            self._window = min(_WIDENED * self._window, MAX_WINDOW)
            return None
        return _together(sources, self._cut(lexical), self._cut(dense))

    def _all_counts(self, live: Live, answers: Sequence[Json]) -> Counts:
        for answer in answers:
            self._counts = self._counts.with_answer(self._terms, answer)
            self._counted.keep(live, self._request.filter, self._counts)
        return self._counts

    def _nearest(self, live: Live, shown: Json) -> Json:
        assert self._request.vector is not None
        query = checked(self._request.vector, live.state.schema.dimensions).astype(np.float64)
        unit = (query / (np.linalg.norm(query) or 1.0)).astype(np.float32)
        body = {"size": self._window, "track_total_hits": False, "_source": list(CANDIDATE_FIELDS)}
        return body | self._dialect.nearest(unit, self._window, shown)

    def _is_cut_in_a_tie(self, places: Places) -> bool:
        if not self._request.size <= self._window <= len(places) or self._window == MAX_WINDOW:
            return False
        ranked = list(places.values())
        last_kept, last = ranked[self._request.size - 1].score, ranked[-1].score
        return last_kept - last <= _EQUAL * max(1.0, abs(last_kept))

    def _cut(self, places: Places) -> Places:
        return dict(list(places.items())[: self._request.size])


class Rankings:
    """The searches of several requests, of one state, in as many round trips as the slowest of them needs.

    Args:
        rankings: one a request; None for one that asks nothing.
    """

    def __init__(self, rankings: Sequence[Ranking | None]) -> None:
        self.open = {number: each for number, each in enumerate(rankings) if each is not None}
        """Those that are not answered yet, by number."""
        self.found: list[list[Candidate]] = [[] for _ in rankings]
        """Candidates by request."""
        self._asked: dict[int, list[Json]] = {}

    def question(self, live: Live) -> list[Json]:
        """Search bodies for a state, of all that are open.

        Raises:
            InvalidVector: a query vector has the wrong length or is not finite.
        """
        self._asked = {number: each.question(live) for number, each in self.open.items()}
        return [body for bodies in self._asked.values() for body in bodies]

    def take(self, live: Live, answers: Sequence[Json]) -> None:
        """Hands every open request its answers."""
        start = 0
        for number, bodies in self._asked.items():
            found = self.open[number].candidates(live, answers[start : start + len(bodies)])
            start += len(bodies)
            if found is not None:
                self.found[number] = found
                del self.open[number]


def sources_of(answer: Json) -> list[Json]:
    """What the index stores of the hits."""
    return [hit["_source"] for hit in answer["hits"]["hits"]]


def _by_id(answer: Json, sources: dict[str, Json]) -> list[Json]:
    """The sources of the hits, which are also kept by id."""
    found = sources_of(answer)
    sources |= {each["id"]: each for each in found}
    return found


def _together(sources: dict[str, Json], lexical: Places, dense: Places) -> list[Candidate]:
    def best_rank(document_id: str) -> tuple[int, str]:
        places = (ranking[document_id].rank for ranking in (lexical, dense) if document_id in ranking)
        return min(places), document_id

    return [
        msgspec.structs.replace(candidate_of(sources[each]), lexical=lexical.get(each), dense=dense.get(each))
        for each in sorted({*lexical, *dense}, key=best_rank)
    ]
