"""Records requests with their candidates once, so that many profiles can be tried on them."""

from __future__ import annotations

from collections import OrderedDict
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

_COSTLY = frozenset({"cross_encode", "classify"})
_STATES = 8
"""Remembered behind each model, request and round."""


class Recorded(msgspec.Struct, frozen=True, eq=False):
    """A judged request with its candidates and vectors."""

    query: JudgedQuery
    request: RescoreRequest
    """The request with all candidates of the first stage."""
    fetcher: Fetcher
    memos: dict[tuple[str, ...], RecentStates]
    """States of the pipeline, by the ids of the documents that were fetched."""

    @classmethod
    def of(cls, query: JudgedQuery, request: RescoreRequest, fetcher: Fetcher) -> Recorded:
        """A recording without answers."""
        return cls(query, request, fetcher, {})

    def answer(self, profile: Profile, models: Models, k: int) -> Answer:
        """The answer of a profile. Stages that another profile began with are not run again."""
        asked = replace(self.request, k=k)
        found, _ = in_rounds(self.fetcher, asked, lambda request: self._rescore(request, profile, models))
        return Answer.of(found)

    def without(self, tools: Set[str]) -> Recorded:
        """The same request on the catalog without these tools (keys)."""
        left = [item for item in self.request.candidates if item.tool_key not in tools]
        request = replace(self.request, candidates=left)
        return Recorded.of(self.query, request, _Lacking(self.fetcher, tools))

    def _rescore(self, request: RescoreRequest, profile: Profile, models: Models) -> Rescored:
        """Like `kitpick_rescorers.pipeline.rescore`, from the last cached state of these stages."""
        memo, stages = self._memo(request), profile.stages
        begun = ((done, memo.get(stages[:done])) for done in range(len(stages), 0, -1))
        first, state = next(((done, found) for done, found in begun if found), (0, None))
        state = state or opening_state(request)
        for place in range(first, len(stages)):
            state = run_stage(stages[place], state, models)
            memo.add(stages[: place + 1], state)
        return closing_answer(state, request.k)

    def _memo(self, request: RescoreRequest) -> RecentStates:
        fetched = tuple(candidate.id for candidate in request.fetched)
        return self.memos.setdefault(fetched, RecentStates())


class RecentStates:
    """The last states after each stage that runs a model."""

    def __init__(self, capacity: int = _STATES) -> None:
        self._behind = {name: OrderedDict[tuple[Stage, ...], State]() for name in _COSTLY}
        self._capacity = capacity

    def get(self, stages: tuple[Stage, ...]) -> State | None:
        """The state after these stages, None where it is not remembered."""
        states = self._behind.get(stages[-1].name, OrderedDict())
        if stages in states:
            states.move_to_end(stages)
        return states.get(stages)

    def add(self, stages: tuple[Stage, ...], state: State) -> None:
        """Remembers the state if the last of these stages runs a model."""
        if (states := self._behind.get(stages[-1].name)) is None:
            return
        states[stages] = state
        if len(states) > self._capacity:
            states.popitem(last=False)


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
