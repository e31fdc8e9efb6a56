"""The searches over one committed state of an index, whoever runs them.

`RemoteEngine` runs them on its server. A service that must not read an index asks its caller to run them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from kitpick_engines.contract import Candidate, Candidates, Filter, SearchRequest, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.lexical import LexicalWeights, Terms
from kitpick_engines.remote.queries import (
    MAX_WINDOW,
    CommittedIndex,
    IndexQuestion,
    IndexReader,
    listed,
    narrowed,
    storable,
)
from kitpick_engines.remote.ranking import CountCache, Rankings, RankingSearch, stored_hits
from kitpick_engines.remote.server import Json, ServerDialect
from kitpick_engines.remote.sources import (
    CANDIDATE_FIELDS,
    DOCUMENT_FIELDS,
    candidate_of,
    document_of,
    is_whole,
)
from kitpick_engines.sentences import searches_of, with_sentences

_FETCHED_AT_ONCE = 1_000


class LiveIndex:
    """The live index of a catalog, for reading. Safe to use from several threads, as far as its reader is."""

    def __init__(self, url: str, reader: IndexReader, dialect: ServerDialect, terms: Terms) -> None:
        """`url` is for messages."""
        self.url = url
        self._reader = reader
        self.dialect = dialect
        self._terms = terms
        self._counted = CountCache()
        self._weights = np.array(msgspec.structs.astuple(LexicalWeights()))

    def search(self, request: SearchRequest) -> Candidates:
        """Candidates of both rankings in one round trip, best lexical or dense rank first, ties by id."""
        each_ranking = [self._ranking(each) for each in searches_of(request)]
        rankings = Rankings(each_ranking, request.filter, self._counted)
        while True:  # once at least: a request that finds nothing also learns the schema
            asked = self._reader.ask(rankings.question)
            if asked is None:
                return Candidates()
            rankings.take(*asked)
            if not rankings.open:
                return Candidates(with_sentences(rankings.found), asked[0].schema)

    def _ranking(self, request: SearchRequest) -> RankingSearch | None:
        """None where there is nothing to search for."""
        terms = self._terms.of_request(request.text, named=request.named)
        if request.size <= 0 or (not terms and request.vector is None):
            return None
        return RankingSearch(request, terms, self.dialect, self._weights)

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """The k visible documents of largest inner product with a vector of any length, best first."""
        return self.search(SearchRequest("", vector, k, filter))

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """All visible APIs of these tools (keys), ordered by id, at most `limit`, without places."""
        keys = storable(tools)
        if limit <= 0 or not keys:
            return []

        def question(live: CommittedIndex) -> list[Json]:
            shown = narrowed(live.visible(filter), {"terms": {"tool_key": keys}})
            return [listed(shown, min(limit, MAX_WINDOW), CANDIDATE_FIELDS)]

        return [candidate_of(source) for source in self._sources(question) if is_whole(source)]

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Whole documents in the order of `ids`; unknown and forbidden ones are left out."""
        wanted = storable(set(ids))
        if not wanted:
            return []
        pages = [wanted[i : i + _FETCHED_AT_ONCE] for i in range(0, len(wanted), _FETCHED_AT_ONCE)]

        def question(live: CommittedIndex) -> list[Json]:
            shown = live.visible(filter)
            return [
                listed(narrowed(shown, {"terms": {"id": page}}), len(page), DOCUMENT_FIELDS) for page in pages
            ]

        found = {source["id"]: source for source in self._sources(question)}
        return [document_of(found[each]) for each in ids if each in found]

    def _sources(self, question: IndexQuestion) -> list[Json]:
        asked = self._reader.ask(question)
        return [source for answer in asked[1] for source in stored_hits(answer)] if asked else []
