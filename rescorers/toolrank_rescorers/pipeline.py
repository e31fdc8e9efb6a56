"""Running a profile over candidates: a pure function, whatever models and candidates do."""

from __future__ import annotations

import time

from msgspec.structs import replace

from toolrank_rescorers.errors import StageUnavailable
from toolrank_rescorers.models import Models
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest, closing_answer, opening_state
from toolrank_rescorers.stages import Stage
from toolrank_rescorers.state import StageTrace, State


def rescore(request: RescoreRequest, profile: Profile, models: Models) -> Rescored:
    """Ranks the candidates by the stages of `profile`. Reads no index, keeps no state but the score cache.

    A stage that cannot do its work is left out, and `degraded` says which and why.

    Raises:
        InvalidRequest: the request cannot be answered as asked.
    """
    state = opening_state(request)
    for stage in profile.stages:
        state = _run(stage, state, models)
    return closing_answer(state, request.k)


def _run(stage: Stage, state: State, models: Models) -> State:
    closed = stage.gate(state) or stage.closed(state)
    if closed:
        return _recorded(stage, state, 0.0, skipped=closed)
    started = time.perf_counter()
    try:
        after, skipped = stage.apply(state, models), ""
    except StageUnavailable as reason:
        after, skipped = state.degrading(stage.name, str(reason)), str(reason)
    return _recorded(stage, after, (time.perf_counter() - started) * 1e3, skipped)


def _recorded(stage: Stage, state: State, milliseconds: float, skipped: str) -> State:
    """The state with a trace of the stage, ready for the next one."""
    entry = StageTrace(
        stage=stage.name,
        milliseconds=milliseconds,
        order=tuple(item.id for item in state.ranked),
        scores=tuple(item.score for item in state.ranked),
        reasons=state.reasons,
        note=state.note,
        skipped=skipped,
        details=state.details,
    )
    return replace(state, trace=(*state.trace, entry), reasons={}, note="", details={})
