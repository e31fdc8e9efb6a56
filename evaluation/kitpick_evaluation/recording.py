"""Records requests with their candidates once, so that many profiles can be tried on them."""

from __future__ import annotations

from collections.abc import Sequence, Set

import msgspec
from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Vector
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import Fetcher, in_rounds, run_stage
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import Rescored, RescoreRequest, closing_answer, opening_state
from kitpick_rescorers.stages import Stage
from kitpick_rescorers.state import State


class Recorded(msgspec.Struct, frozen=True, eq=False):
    """A judged request with its candidates and vectors."""

    query: JudgedQuery
    request: RescoreRequest
    """The request with all candidates of the first stage."""
    fetcher: Fetcher
    begun: dict[tuple[str, ...], tuple[tuple[Stage, ...], State]]
    """By fetched ids: all stages but the last of the latest profile, and the state behind them."""

    @classmethod
    def of(cls, query: JudgedQuery, request: RescoreRequest, fetcher: Fetcher) -> Recorded:
        """A recording without answers."""
        return cls(query, request, fetcher, {})

    def answer(self, profile: Profile, models: Models, k: int) -> Answer:
        """The answer of a profile. One that differs from the last one in its last stage runs only that."""
        asked = replace(self.request, k=k)
        found, _ = in_rounds(self.fetcher, asked, lambda request: self._rescore(request, profile, models))
        return Answer.of(found)

    def without(self, tools: Set[str]) -> Recorded:
        """The same request on the catalog without these tools (keys)."""
        left = [item for item in self.request.candidates if item.tool_key not in tools]
        request = replace(self.request, candidates=left)
        return Recorded.of(self.query, request, _Lacking(self.fetcher, tools))

    def _rescore(self, request: RescoreRequest, profile: Profile, models: Models) -> Rescored:
        """Like `kitpick_rescorers.pipeline.rescore`, without the rules that read the request."""
        first, fetched = profile.stages[:-1], tuple(candidate.id for candidate in request.fetched)
        begun = self.begun.get(fetched)
        if begun is None or begun[0] != first:
            self.begun[fetched] = begun = first, _through(first, opening_state(request), models)
        return closing_answer(_through(profile.stages[-1:], begun[1], models), request.k)


def _through(stages: Sequence[Stage], state: State, models: Models) -> State:
    for stage in stages:
        state = run_stage(stage, state, models)
    return state


class _Lacking:
    """A fetcher without some tools."""

    def __init__(self, fetcher: Fetcher, tools: Set[str]) -> None:
        self._fetcher = fetcher
        self._tools = tools

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        return self._fetcher.apis_of_tools([tool for tool in tools if tool not in self._tools])

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        found = self._fetcher.neighbours(vector, k)
        return [candidate for candidate in found if candidate.tool_key not in self._tools]


class RememberingFetcher:
    """A fetcher that asks the engine only once for the APIs of a tool."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._apis: dict[tuple[str, ...], Sequence[Candidate]] = {}

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        """Calls the fetcher behind it."""
        key = tuple(tools)
        if key not in self._apis:
            self._apis[key] = self._fetcher.apis_of_tools(tools)
        return self._apis[key]

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        """Calls the fetcher behind it. Nothing is cached, because residuals are rarely equal."""
        return self._fetcher.neighbours(vector, k)
