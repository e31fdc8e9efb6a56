"""A catalog with a profile as a system that can be evaluated."""

from __future__ import annotations

import json
from collections.abc import Sequence, Set
from typing import cast

from toolrank.catalog import Catalog
from toolrank.hiding import HidingEngine
from toolrank.result import SearchResult
from toolrank_engines.contract import Engine, Filter
from toolrank_engines.document import ApiDocument
from toolrank_evaluation.answer import Answer
from toolrank_evaluation.errors import EvaluationError
from toolrank_ingest.definitions import render_definitions
from toolrank_rescorers.packing import TokenCounter, token_counter
from toolrank_rescorers.profiles import Profile

HITS = 5
"""How many definitions are handed to a model when nobody says otherwise: `toolrank search` gives as many."""


class DefinitionTokens:
    """Sizes of definitions, each measured once."""

    def __init__(self, counter: TokenCounter | None = None) -> None:
        self.counter = counter or token_counter()
        self._known: dict[str, int] = {}

    def of(self, documents: Sequence[ApiDocument]) -> int:
        """Tokens of the documents' definitions together."""
        for document in documents:
            if document.id not in self._known:
                (definition,) = render_definitions([document], "openai")
                self._known[document.id] = self.counter.count(json.dumps(definition))
        return sum(self._known[document.id] for document in documents)


class CatalogSystem:
    """Answers by searching a catalog with one profile, as one caller."""

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
        """The answer to a request. A degraded one would tell of something else, so it fails.

        Raises:
            EvaluationError: the profile could not run in full.
        """
        return self._answer(self.catalog, request, k)

    def ask_without(self, request: str, k: int, hidden: Set[str]) -> Answer:
        """The answer of a catalog that lacks these tools (keys).

        Raises:
            EvaluationError: as `ask`.
        """
        deprived = Catalog(cast("Engine", HidingEngine(self.catalog.engine, hidden)), self.catalog.settings)
        deprived.models = self.catalog.models
        return self._answer(deprived, request, k)

    def search(self, request: str, k: int) -> SearchResult:
        """The whole result.

        Raises:
            EvaluationError: as `ask`.
        """
        return self._search(self.catalog, request, k)

    def _answer(self, catalog: Catalog, request: str, k: int) -> Answer:
        result = self._search(catalog, request, k)
        return Answer(
            ids=tuple(hit.document.id for hit in result.hits),
            scores=tuple(hit.score for hit in result.hits),
            probabilities=tuple(hit.probability for hit in result.hits),
            tokens=self._tokens.of([hit.document for hit in result.hits[: self._hits]]),
            kind="" if result.query_kind is None else result.query_kind.kind,
            abstained=result.abstained,
            trace=result.trace,
        )

    def _search(self, catalog: Catalog, request: str, k: int) -> SearchResult:
        result = catalog.search(request, k, profile=self.profile, filter=self.permitted)
        if result.degraded:
            reasons = "; ".join(f"{item.stage}: {item.reason}" for item in result.degraded)
            raise EvaluationError(
                f"profile {self.profile.name!r} cannot be evaluated, it ran degraded: {reasons}"
            )
        return result
