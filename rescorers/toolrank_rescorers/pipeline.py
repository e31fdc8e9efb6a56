"""Running a profile over candidates: a pure function, whatever models and candidates do."""

from __future__ import annotations

import time
from collections.abc import MutableMapping

from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest, closing_answer, opening_state
from toolrank_rescorers.stages import Stage
from toolrank_rescorers.state import StageTrace, State

Memo = MutableMapping[tuple[Stage, ...], State]
"""States of one request by the stages that led to them. It may forget, and need not keep what it is given."""


def rescore(request: RescoreRequest, profile: Profile, models: Models, memo: Memo | None = None) -> Rescored:
    """Ranks the candidates by the stages of `profile`. Reads no index, keeps no state but the score cache.

    A stage that cannot do its work is left out, and `degraded` says which and why.

    Args:
        request: query and candidates.
        profile: the stages.
        models: what the stages run with.
        memo: for trying many profiles on one request: what begins alike is run once. Same request and
            models, or the answer is another one's.

    Raises:
        InvalidRequest: the request cannot be answered as asked.
    """
    done, state = _begun(request, profile, memo)
    for place in range(done, len(profile.stages)):
        state = _run(profile.stages[place], state, models)
        if memo is not None:
            memo[profile.stages[: place + 1]] = state
    return closing_answer(state, request.k)


def _begun(request: RescoreRequest, profile: Profile, memo: Memo | None) -> tuple[int, State]:
    """How many stages are done already, and the state after them."""
    for done in range(len(profile.stages), 0, -1) if memo is not None else ():
        state = memo.get(profile.stages[:done]) if memo is not None else None
        if state is not None:
            return done, state
    return 0, opening_state(request)


def _run(stage: Stage, state: State, models: Models) -> State:
    closed = stage.gate(state) or stage.closed(state)
    if closed:
        return _recorded(stage, state, state, 0.0, skipped=closed)
    started = time.perf_counter()
    try:
        after, skipped = stage.apply(state, models), ""
    except StageUnavailable as reason:
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
