"""An engine that remembers which candidates it proposed: a trace tells of ids alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from toolrank_engines.contract import Candidate, Engine, Filter, SearchRequest, Vector


class RecordingEngine:
    """The engine, for one request."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.vector: Vector | None = None
        """The query's, float32 (d,); None where the profile makes no use of it."""
        self.proposed: list[Candidate] = []
        """By the first stage, in its order."""
        self.fetched: dict[str, str] = {}
        """Id → why it was fetched later."""
        self.known: dict[str, Candidate] = {}
        """Every candidate that came into sight, by id."""

    def search(self, request: SearchRequest) -> list[Candidate]:
        """Candidates of the first stage."""
        self.vector = request.vector
        self.proposed = self._engine.search(request)
        self.known |= {candidate.id: candidate for candidate in self.proposed}
        return self.proposed

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """APIs of tools that a stage wants to see."""
        return self._fetched(
            self._engine.apis_of_tools(tools, filter, limit), "fetched: an API of a wanted tool"
        )

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """APIs near to what a stage could not explain."""
        found = self._engine.neighbours(vector, k, filter)
        return self._fetched(found, "fetched: near to what the chosen leave of the request")

    def _fetched(self, found: Sequence[Candidate], reason: str) -> list[Candidate]:
        for candidate in found:
            if candidate.id not in self.known:
                self.known[candidate.id] = candidate
                self.fetched[candidate.id] = reason
        return list(found)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - everything else is the engine's own
        return getattr(self._engine, name)
