"""How an adapter searches its catalog, and its hits as the tools or the documents of a framework."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from kitpick.adapters.errors import InvalidArguments
from kitpick.adapters.feedback import reporting
from kitpick.adapters.tools import CallableTool, Run, callable_tools
from kitpick.catalog import Catalog
from kitpick.conversation import Messages
from kitpick.result import SearchResult
from kitpick_engines.contract import Filter
from kitpick_engines.text import rerank_text
from kitpick_foundation.decoding import convert_to

_log = logging.getLogger(__name__)


class RetrievalArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of `Catalog.search` beside the request."""

    k: Annotated[int, msgspec.Meta(ge=0)] | Literal["auto"] = 5
    budget: Annotated[int, msgspec.Meta(ge=0)] | None = None
    filter: Filter = Filter()
    """Who asks and what they want to see; also as an object: `{"principals": ["staff"]}`."""
    profile: str | None = None

    @classmethod
    def of(cls, **given: Any) -> RetrievalArguments:  # noqa: ANN401 - whatever a framework's user wrote
        """What was given, checked; None stands for the default.

        Raises:
            InvalidArguments: an unknown name or a value out of range.
        """
        return cls().changed(given)

    def changed(self, given: Mapping[str, Any]) -> RetrievalArguments:
        """The same with other values, for one request; raises as `of`."""
        known = {name: value for name, value in given.items() if value is not None}
        try:
            return convert_to(msgspec.structs.asdict(self) | known, RetrievalArguments)
        except msgspec.ValidationError as error:
            raise InvalidArguments(f"k, budget, filter or profile: {error}") from error

    def search(self, catalog: Catalog, request: str | Messages) -> SearchResult:
        """Asks; raises as `Catalog.search`."""
        return _logged(catalog.search(request, **msgspec.structs.asdict(self)))

    async def asearch(self, catalog: Catalog, request: str | Messages) -> SearchResult:
        """`search` in a worker thread."""
        return _logged(await catalog.asearch(request, **msgspec.structs.asdict(self)))


class ToolRetrieval:
    """Searches a catalog for the tools of a request; in the name of a client, their calls are feedback."""

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        client: str | None,
        **wanted: Any,  # noqa: ANN401 - checked
    ) -> None:
        """Takes what calls an API, in whose name is told what became of calls, and the arguments of a search.

        Raises:
            InvalidArguments: an unknown one, or a value out of range.
        """
        self._catalog = catalog
        self._run = run
        self._client = client
        self._wanted = RetrievalArguments.of(**wanted)

    def tools(self, request: str | Messages) -> list[CallableTool]:
        """The tools for a request, best first; raises as `Catalog.search`."""
        return self._callable(self._wanted.search(self._catalog, request))

    async def atools(self, request: str | Messages) -> list[CallableTool]:
        """`tools` without blocking the loop."""
        return self._callable(await self._wanted.asearch(self._catalog, request))

    def _callable(self, result: SearchResult) -> list[CallableTool]:
        if self._client is None:
            return callable_tools(result, self._run)
        asked = self._wanted.filter
        told = reporting(self._run, self._catalog, result, client=self._client, filter=asked)
        return callable_tools(result, told)


class Described(msgspec.Struct, frozen=True):
    """A hit as frameworks hold documents."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    """JSON values: where it stands and why, its definition, and what the answer as a whole lacks."""


def described(result: SearchResult) -> list[Described]:
    """The hits of an answer, best first."""
    lacks = [f"{item.stage}: {item.reason}" for item in result.degraded]
    found = []
    for hit, definition in zip(result.hits, result.definitions("openai"), strict=True):
        document = hit.document
        metadata = {
            "source": document.source,
            "category": document.category,
            "tool": document.tool,
            "api": document.api,
            "effect": document.effect.value,
            "deprecated": document.deprecated,
            "rank": hit.rank,
            "score": hit.score,
            "probability": hit.probability,
            "reasons": list(hit.reasons),
            "definition": definition,
            "nothing_fits": result.abstained_because,
            "unmatched": list(result.unmatched),
            "degraded": lacks,
        }
        found.append(Described(document.id, rerank_text(document), hit.score, metadata))
    return found


def _logged(result: SearchResult) -> SearchResult:
    """The result. An answer without hits has no place for what it lacks: so it is logged as well."""
    for item in result.degraded:
        _log.warning("degraded: %s: %s", item.stage, item.reason)
    return result
