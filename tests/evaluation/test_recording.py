"""What a recording remembers between profiles."""

from __future__ import annotations

from kitpick_evaluation.recording import RecentStates
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.stages import Blend, CrossEncode, Fuse


def test_only_states_behind_a_model_are_remembered_and_the_oldest_are_forgotten() -> None:
    states = RecentStates(capacity=2)
    state = opening_state(RescoreRequest("x", []))
    for candidates_ in (10, 20, 30):
        stages = (Fuse(), CrossEncode(candidates=candidates_))
        states[stages[:1]] = state
        states[stages] = state
        states[(*stages, Blend())] = state
    assert [stages[-1] for stages in states] == [CrossEncode(candidates=20), CrossEncode(candidates=30)]
