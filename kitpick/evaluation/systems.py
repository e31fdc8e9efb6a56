"""A catalog with a profile as a system to evaluate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from kitpick.catalog import Catalog
from kitpick.definition_tokens import DefinitionTokens
from kitpick.result import SearchResult
from kitpick_engines.contract import Candidate, Candidates, Filter, SearchRequest, Vector
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.errors import EvaluationError
from kitpick_rescorers.contracts import SearchedIndex
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.search import Search
from kitpick_rescorers.state import faults

HITS = 5
"""How many definitions are handed to a model when nobody says otherwise: `kitpick search` gives as many."""


class HidingIndex:
    """An index without some tools (keys), as if the catalog lacked them.

    Rankings are filtered after the fact: with the shipped depth of 200 candidates nothing of note is lost.
    """

    def __init__(self, index: SearchedIndex, hidden: Set[str]) -> None:
        self.url = index.url
        self._index = index
        self._hidden = hidden

    def search(self, request: SearchRequest) -> Candidates:
        """Candidates without those of hidden tools."""
        found = self._index.search(request)
        return Candidates(self._without(found), found.schema)

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """APIs of those tools that are not hidden."""
        return self._index.apis_of_tools([tool for tool in tools if tool not in self._hidden], filter, limit)

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """Neighbours without those of hidden tools."""
        return self._without(self._index.neighbours(vector, k, filter))

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Documents without those of hidden tools."""
        return [item for item in self._index.fetch(ids, filter) if item.tool_key not in self._hidden]

    def _without(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        return [candidate for candidate in candidates if candidate.tool_key not in self._hidden]


class CatalogSystem:
    """A catalog with a profile and a caller, as a system.

    A degraded answer raises `EvaluationError`, because it would not measure the profile.
    """

    def __init__(
        self,
        catalog: Catalog,
        profile: Profile,
        tokens: DefinitionTokens,
        *,
        permitted: Filter | None = None,
        hits: int = HITS,
    ) -> None:
        self.catalog = catalog
        self.profile = profile
        self.permitted = permitted or Filter()
        self._tokens = tokens
        self._hits = hits

    def ask(self, request: str, k: int) -> Answer:
        """The answer to a request."""
        return self._answer(self.catalog.way, request, k)

    def ask_without(self, request: str, k: int, hidden: Set[str]) -> Answer:
        """The answer of the catalog without these tools (keys)."""
        deprived = self.catalog.way.over(HidingIndex(self.catalog.engine, hidden))
        return self._answer(deprived, request, k)

    def search(self, request: str, k: int) -> SearchResult:
        """The whole result."""
        return self._search(self.catalog.way, request, k)

    def _answer(self, way: Search, request: str, k: int) -> Answer:
        result = self._search(way, request, k)
        return Answer(
            ids=tuple(hit.document.id for hit in result.hits),
            scores=tuple(hit.score for hit in result.hits),
            probabilities=tuple(hit.probability for hit in result.hits),
            tokens=self._tokens.of([hit.document for hit in result.hits[: self._hits]]),
            abstained=result.abstained,
        )

    def _search(self, way: Search, request: str, k: int) -> SearchResult:
        outcome = way.run(request, self.profile, k, self.permitted)
        result = SearchResult.of(self.profile.name, outcome)
        if found := faults(result.degraded):
            reasons = "; ".join(f"{item.stage}: {item.reason}" for item in found)
            raise EvaluationError(
                f"profile {self.profile.name!r} cannot be evaluated, it ran degraded: {reasons}"
            )
        return result
