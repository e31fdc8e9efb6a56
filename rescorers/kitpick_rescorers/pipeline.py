"""Runs a profile over candidates: a pure function that degrades instead of failing.

`in_rounds` is the caller's side of the field `need`: it fetches with the caller's permissions and asks again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Vector
from kitpick_foundation.deadline import UNLIMITED, Deadline, DeadlineExceeded
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.rules import follow_rules
from kitpick_rescorers.request import Rescored, RescoreRequest, closing_answer, opening_state
from kitpick_rescorers.stages import (
    Abstain,
    Blend,
    Classify,
    Combine,
    Complete,
    Concentrate,
    CrossEncode,
    Decode,
    Enough,
    Learned,
    Stage,
)
from kitpick_rescorers.state import Degradation, Need, StageTrace, State


def rescore(
    request: RescoreRequest, profile: Profile, models: Models, deadline: Deadline = UNLIMITED
) -> Rescored:
    """Ranks the candidates by the stages of `profile`. Reads no index, keeps no state but the score cache.

    A stage that cannot do its work is left out, and `degraded` says which and why.

    What is not done by the deadline is left out likewise.

    Raises:
        InvalidRequest: the request cannot be answered as asked.
    """
    opening = state = replace(opening_state(request), deadline=deadline)
    ranking = _ranking_stages(profile.stages)
    reading = request.reading
    for stage in profile.stages[:ranking]:
        if reading.unread and _reads(stage):
            state = _recorded(stage, state, state, 0.0, f"it does not read {reading.foreign}")
        else:
            state = run_stage(stage, state, models)
    state = follow_rules(state, opening.ranked, reading, request.placed_first, request.read_as, request.used)
    for stage in profile.stages[ranking:]:
        state = run_stage(stage, state, models)
    return closing_answer(state, request.k)


_READS = (Abstain, Blend, Classify, Combine, Concentrate, CrossEncode, Learned)
"""Stages that read English, or judge by what was read."""
_OF_THE_WHOLE = (Complete, Enough)
"""Stages that work on a finished order: the rules come before them."""


def _reads(stage: Stage) -> bool:
    """Whether a stage has nothing to work with where the request is in a language that no model reads."""
    return isinstance(stage, _READS) or (isinstance(stage, Decode) and stage.relevance > 0)


def _ranking_stages(stages: Sequence[Stage]) -> int:
    """How many stages rank: all but those at the end that work on a finished order."""
    count = len(stages)
    while count and isinstance(stages[count - 1], _OF_THE_WHOLE):
        count -= 1
    return count


def run_stage(stage: Stage, state: State, models: Models) -> State:
    """The state after one stage, with its trace; unchanged but for the trace if the stage is skipped."""
    skipped = stage.reason_to_skip(state)
    if skipped:
        return _recorded(stage, state, state, 0.0, skipped)
    started = time.perf_counter()
    try:
        state.deadline.check("not run")
        after = stage.apply(state, models)
    except (StageUnavailable, DeadlineExceeded) as reason:
        after, skipped = state.degrading(stage.name, str(reason)), str(reason)
    return _recorded(stage, state, after, (time.perf_counter() - started) * 1e3, skipped)


def _recorded(stage: Stage, before: State, state: State, milliseconds: float, skipped: str) -> State:
    """The state with a trace of the stage, ready for the next one."""
    last = before.trace[-1] if before.trace and state.ranked is before.ranked else None
    entry = StageTrace(
        stage=stage.name,
        milliseconds=milliseconds,
        order=last.order if last else tuple(item.id for item in state.ranked),
        scores=last.scores if last else tuple(item.score for item in state.ranked),
        reasons=state.reasons,
        note=state.note,
        skipped=skipped,
        details=state.details,
    )
    return replace(state, trace=(*state.trace, entry), reasons={}, note="", details={})


class Fetcher(Protocol):
    """Reads documents with the permissions of one caller."""

    def apis_of_tools(self, tools: Sequence[str]) -> Sequence[Candidate]:
        """All visible APIs of these tools (keys)."""

    def neighbours(self, vector: Vector, k: int) -> Sequence[Candidate]:
        """The k visible documents of largest inner product with `vector` (d,)."""


def in_rounds(
    fetcher: Fetcher,
    request: RescoreRequest,
    ask: Callable[[RescoreRequest], Rescored],
    rounds: int = 2,
) -> tuple[Rescored, RescoreRequest]:
    """Rescores, fetches what is needed and rescores again, at most `rounds` times.

    When fetching fails, the best list so far is the answer, and says so. The second value is the request that
    was answered last, with everything that was fetched.

    `ask` rescores, in this process or another: one with a `ScoreCache` pays only for what is new.

    Raises:
        Exception: whatever `ask` raises.
    """
    answer = ask(request)
    for done in range(rounds):
        if answer.need is None:
            break
        try:
            larger = _larger(fetcher, request, answer.need)
        except Exception as error:  # noqa: BLE001 - whatever an engine raises, there is a list already
            reason = f"what was needed could not be fetched: {type(error).__name__}: {str(error)[:300]}"
            return replace(answer, degraded=(*answer.degraded, Degradation("fetch", reason))), request
        if len(larger.fetched) == len(request.fetched):
            return replace(answer, need=None), request
        request = larger
        answer = replace(ask(request), rounds=done + 1)
    return answer, request


def _larger(fetcher: Fetcher, request: RescoreRequest, need: Need) -> RescoreRequest:
    """The request with the documents that were needed and missing."""
    found: list[Candidate] = []
    if need.apis_of_tools:
        found += fetcher.apis_of_tools(need.apis_of_tools)
    if need.neighbours is not None:
        found += fetcher.neighbours(need.neighbours.array, need.neighbours.k)
    known = {candidate.id for candidate in (*request.candidates, *request.fetched)}
    new = {candidate.id: candidate for candidate in found if candidate.id not in known}
    return replace(
        request,
        fetched=(*request.fetched, *new.values()),
        complete_tools=request.complete_tools | set(need.apis_of_tools),
    )
