"""Requests with their candidates, recorded once, so that thousands of profiles can be tried on them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, MutableMapping, Sequence, Set
from itertools import chain

import msgspec
import numpy as np
from msgspec.structs import replace

from toolrank_engines.contract import Candidate, Vector
from toolrank_evaluation.answer import Answer
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_rescorers.models import Models
from toolrank_rescorers.pipeline import Memo, rescore
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import RescoreRequest
from toolrank_rescorers.rounds import Fetcher, in_rounds
from toolrank_rescorers.stages import Stage
from toolrank_rescorers.state import State

_COSTLY = frozenset({"cross_encode", "classify"})
_STATES = 8
"""Remembered behind each model, request and round: as many first stages alternate in the usual space."""


class Recorded(msgspec.Struct, frozen=True, eq=False):
    """A judged request with everything that a profile needs to answer it."""

    query: JudgedQuery
    request: RescoreRequest
    """With all candidates of the first stage."""
    fetcher: Fetcher
    depth: int | None
    """How far down the fused list any profile looks; None where one looks at everything."""
    near: RescoreRequest
    """With the candidates that can come within the depth."""
    memos: dict[tuple[str, ...], Memo]

    @classmethod
    def of(
        cls, query: JudgedQuery, request: RescoreRequest, fetcher: Fetcher, depth: int | None = None
    ) -> Recorded:
        """A recording of which nothing was answered yet."""
        candidates = request.candidates
        near = candidates if depth is None else reachable(candidates, depth)
        return cls(query, request, fetcher, depth, replace(request, candidates=near), {})

    def answer(self, profile: Profile, models: Models, k: int) -> Answer:
        """What a profile answers; what begins as another profile did is not run again."""
        asked = replace(self.near, k=k)
        found = in_rounds(
            self.fetcher, asked, lambda request: rescore(request, profile, models, self._memo(request))
        )
        return Answer(
            ids=tuple(hit.id for hit in found.results),
            scores=tuple(hit.score for hit in found.results),
            probabilities=tuple(hit.probability for hit in found.results),
            abstained=found.abstained,
        )

    def without(self, tools: Set[str]) -> Recorded:
        """The same request to a catalog that lacks these tools (keys)."""
        left = [item for item in self.request.candidates if item.tool_key not in tools]
        request = replace(self.request, candidates=left)
        return Recorded.of(self.query, request, _Lacking(self.fetcher, tools), self.depth)

    def _memo(self, request: RescoreRequest) -> Memo:
        fetched = tuple(candidate.id for candidate in request.fetched)
        return self.memos.setdefault(fetched, RecentStates())


class RecentStates(MutableMapping[tuple[Stage, ...], State]):
    """The last states behind each model: what comes after them is cheap, and what came before is in them."""

    def __init__(self, capacity: int = _STATES) -> None:
        self._behind: dict[str, OrderedDict[tuple[Stage, ...], State]] = {
            name: OrderedDict() for name in _COSTLY
        }
        self._capacity = capacity

    def __getitem__(self, stages: tuple[Stage, ...]) -> State:
        states = self._of(stages)
        states.move_to_end(stages)
        return states[stages]

    def __setitem__(self, stages: tuple[Stage, ...], state: State) -> None:
        if stages[-1].name in _COSTLY:
            states = self._of(stages)
            states[stages] = state
            while len(states) > self._capacity:
                states.popitem(last=False)

    def __delitem__(self, stages: tuple[Stage, ...]) -> None:
        del self._of(stages)[stages]

    def __iter__(self) -> Iterator[tuple[Stage, ...]]:
        return chain.from_iterable(self._behind.values())

    def __len__(self) -> int:
        return sum(map(len, self._behind.values()))

    def _of(self, stages: tuple[Stage, ...]) -> OrderedDict[tuple[Stage, ...], State]:
        return self._behind.get(stages[-1].name, OrderedDict())


class _Lacking:
    """A fetcher that does not know some tools."""

    def __init__(self, fetcher: Fetcher, tools: Set[str]) -> None:
        self._fetcher = fetcher
        self._tools = tools

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        return self._fetcher.apis_of_tools([tool for tool in tools if tool not in self._tools])

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        found = self._fetcher.neighbours(vector, k)
        return [candidate for candidate in found if candidate.tool_key not in self._tools]


class RememberingFetcher:
    """Asks an engine for the APIs of a tool once."""

    def __init__(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._apis: dict[tuple[str, ...], Sequence[Candidate]] = {}

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        """As the fetcher behind it."""
        key = tuple(tools)
        if key not in self._apis:
            self._apis[key] = self._fetcher.apis_of_tools(tools)
        return self._apis[key]

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        """As the fetcher behind it: residuals are rarely alike, so nothing is remembered."""
        return self._fetcher.neighbours(vector, k)


def reachable(candidates: Sequence[Candidate], depth: int) -> list[Candidate]:
    """Those that some fusion of the rankings can bring among the first `depth`, in the given order.

    Every fused score rises as a rank falls, and a share of it may be that of the best API of the tool. So
    where `depth` others precede, in every ranking, the best place that any API of a candidate's tool has
    there, the candidate stays behind them whatever the settings are. It would only cost time, thousands of
    times.
    """
    if not candidates:
        return []
    beyond = len(candidates) + 1
    places = np.array(
        [[beyond if place is None else place.rank for place in item.places.values()] for item in candidates]
    )
    tools = [item.tool_key for item in candidates]
    best = {
        tool: places[[row for row, of in enumerate(tools) if of == tool]].min(axis=0) for tool in {*tools}
    }
    bounds = np.array([best[tool] for tool in tools])
    at_least = (places[None, :, :] <= bounds[:, None, :]).all(axis=2)
    better = at_least & (places[None, :, :] < bounds[:, None, :]).any(axis=2)
    return [item for item, ahead in zip(candidates, better.sum(axis=1), strict=True) if ahead < depth]
