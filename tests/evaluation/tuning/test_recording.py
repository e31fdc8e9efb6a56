"""What is left out of a recording can never matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from toolrank_engines.contract import Candidate, Place
from toolrank_evaluation.tuning.recording import RecentStates, reachable
from toolrank_rescorers.models import Models
from toolrank_rescorers.request import RescoreRequest, opening_state
from toolrank_rescorers.stages import Blend, CrossEncode, Fuse

RANKS = st.permutations(range(1, 13))


def candidates(lexical: list[int], dense: list[int], found: int) -> list[Candidate]:
    """Twelve, each ranking of which stops at `found`."""
    vector = np.ones(2, dtype=np.float32)
    return [
        Candidate(
            f"c{number:02}",
            "",
            "t",
            f"c{number}",
            "",
            vector,
            Place(lexical[number], 1.0) if lexical[number] <= found else None,
            Place(dense[number], 1.0) if dense[number] <= found else None,
        )
        for number in range(12)
        if min(lexical[number], dense[number]) <= found
    ]


@given(
    RANKS,
    RANKS,
    st.integers(1, 12),
    st.integers(1, 6),
    st.sampled_from([(1.0, 1.0), (0.0, 1.0), (1.0, 0.0), (0.1, 3.0)]),
    st.sampled_from([0.0, 10.0, 60.0]),
)
@settings(max_examples=200, deadline=None)
def test_no_fusion_brings_up_what_was_left_out(
    lexical: list[int], dense: list[int], found: int, depth: int, weights: tuple[float, float], k: float
) -> None:
    everything = candidates(lexical, dense, found)
    fuse = Fuse(lexical=weights[0], dense=weights[1], k=k)

    def first(given: list[Candidate]) -> list[tuple[str, int]]:
        fused = fuse.apply(opening_state(RescoreRequest("x", given)), Models())
        return [(item.id, item.first_rank) for item in fused.ranked[:depth]]

    assert first(reachable(everything, depth)) == first(everything)


def test_only_states_behind_a_model_are_remembered_and_the_oldest_are_forgotten() -> None:
    states = RecentStates(capacity=2)
    state = opening_state(RescoreRequest("x", []))
    for candidates_ in (10, 20, 30):
        stages = (Fuse(), CrossEncode(candidates=candidates_))
        states[stages[:1]] = state
        states[stages] = state
        states[(*stages, Blend())] = state
    assert [stages[-1] for stages in states] == [CrossEncode(candidates=20), CrossEncode(candidates=30)]
