"""The answer to a request: the tools found, and how sure, how complete and how degraded the answer is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_ingest.definitions import DefinitionFormat, render_definitions
from toolrank_ingest.function_names import documents_by_name
from toolrank_ingest.slimming import slim_definition
from toolrank_rescorers.state import Degradation, QueryKindEstimate, StageTrace


class SearchHit(msgspec.Struct, frozen=True):
    """One API of the answer."""

    rank: int
    """From 1."""
    score: float
    """Of the last scoring stage: comparable within one answer only."""
    probability: float | None
    """Calibrated probability that the API serves the request; None where no cross-encoder scored it."""
    reasons: tuple[str, ...]
    """`stage: what it saw`, in the order of the stages."""
    document: ApiDocument


class SearchResult(msgspec.Struct, frozen=True):
    """The best APIs for a request, in order."""

    profile: str
    hits: tuple[SearchHit, ...]
    query_kind: QueryKindEstimate | None
    abstained: bool
    """Nothing in the catalog is likely to do the job; the hits are the nearest there is."""
    abstained_because: str
    degraded: tuple[Degradation, ...]
    """What could not be done, and why; empty for a full answer."""
    timings: Mapping[str, float]
    """Milliseconds by step."""
    trace: tuple[StageTrace, ...] = ()
    slimmed: frozenset[str] = frozenset()
    """Ids of hits whose definitions come without most of their prose, to fit into the budget."""

    def definitions(self, format: DefinitionFormat) -> list[dict[str, Any]]:  # noqa: A002
        """The hits as tool definitions to hand to a language model: those of an abstained answer too."""
        whole = render_definitions(self._documents, format)
        return [
            slim_definition(definition) if hit.document.id in self.slimmed else definition
            for hit, definition in zip(self.hits, whole, strict=True)
        ]

    def called(self, name: str) -> ApiDocument:
        """The API that a model means when it calls a function of `definitions` by its name.

        Raises:
            KeyError: none of the hits has that name.
        """
        return documents_by_name(self._documents)[name]

    @property
    def _documents(self) -> list[ApiDocument]:
        return [hit.document for hit in self.hits]
