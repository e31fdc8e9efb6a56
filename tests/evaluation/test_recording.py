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
        states.add(stages[:1], state)
        states.add(stages, state)
        states.add((*stages, Blend()), state)
        assert states.get(stages) is state
        assert states.get(stages[:1]) is None
        assert states.get((*stages, Blend())) is None
    kept = [size for size in (10, 20, 30) if states.get((Fuse(), CrossEncode(candidates=size)))]
    assert kept == [20, 30]
