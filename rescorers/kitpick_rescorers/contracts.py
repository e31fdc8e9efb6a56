"""Protocols of what a search needs: an index to read, an encoder, the models of a pipeline, and voters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kitpick_engines.contract import Candidate, Candidates, Filter, SearchRequest, Vector
from kitpick_engines.document import ApiDocument
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation


class SearchedIndex(Protocol):
    """The index of a search. Every `kitpick_engines.contract.Engine` is one."""

    @property
    def url(self) -> str:
        """The address, for messages."""

    def search(self, request: SearchRequest) -> Candidates:
        """Like `Engine.search`."""

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """Like `Engine.apis_of_tools`."""

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """Like `Engine.neighbours`."""

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Like `Engine.fetch`."""


class QueryEncoder(Protocol):
    """An encoder of requests."""

    @property
    def identity(self) -> str:
        """Name and digest: vectors of equal identities can be compared.

        Raises:
            ModelError, MissingExtra: the model cannot be loaded.
        """

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        """Unit vectors, float32 (d,), one a text.

        Raises:
            ModelError, MissingExtra: the model cannot be loaded, or fails.
        """

    @property
    def unmatched_below(self) -> float | None:
        """The cosine with the nearest API, in [−1, 1], below which a sentence is said to match nothing.

        None if this is not known of the model. Raises as `identity`.
        """

    def knows(self, word: str) -> bool:
        """Whether a word, in lower case, is one of the model's vocabulary. Raises as `identity`."""


class ModelSource(Protocol):
    """Provides the models of a pipeline."""

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages need, and those that are missing.

        Raises:
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """


class Voted(NamedTuple):
    """What sample requests say of a request."""

    candidates: list[Candidate]
    """With their `intent` places, and those that only votes propose."""
    trust: float = 1.0
    """How far to trust these places, in [0, 1]."""
    confirmed: Mapping[str, str] = MappingProxyType({})
    """Ids of the APIs that were confirmed for this very request, in their order, and by whom."""


class Voters(Protocol):
    """Sample requests that vote for their APIs."""

    def add_votes(
        self,
        candidates: Sequence[Candidate],
        vector: Vector | None,
        permitted: Filter,
        index: SearchedIndex,
        encoder: QueryEncoder,
        request: str = "",
    ) -> Voted:
        """What the samples that the caller may see say of a request.

        Raises:
            EngineUnavailable: the samples cannot be read.
        """
