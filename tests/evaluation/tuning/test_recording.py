"""What is left out of a recording can never matter."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_engines.contract import Candidate, Place
from kitpick_evaluation.tuning.recording import RecentStates, reachable
from kitpick_rescorers.models import Models
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.stages import Blend, CrossEncode, Fuse

RANKS = st.permutations(range(1, 13))


def candidates(rankings: tuple[list[int], list[int], list[int]], found: int, tools: int) -> list[Candidate]:
    """Up to twelve of so many tools, each ranking of which stops at `found`."""
    vector = np.ones(2, dtype=np.float32)

    def place(ranking: list[int], number: int) -> Place | None:
        return Place(ranking[number], 1.0) if ranking[number] <= found else None

    return [
        Candidate(
            f"c{number:02}",
            "",
            f"t{number % tools}",
            f"c{number}",
            "",
            vector,
            lexical=place(rankings[0], number),
            dense=place(rankings[1], number),
            sentence=place(rankings[2], number),
        )
        for number in range(12)
        if min(ranking[number] for ranking in rankings) <= found
    ]


@given(
    st.tuples(RANKS, RANKS, RANKS),
    st.tuples(st.integers(1, 12), st.sampled_from([1, 3, 12])),
    st.integers(1, 6),
    st.sampled_from([(1.0, 1.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.1, 3.0, 0.0), (1.0, 1.0, 2.0)]),
    st.sampled_from([0.0, 10.0, 60.0]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
@settings(max_examples=examples(300), deadline=None)
def test_no_fusion_brings_up_what_was_left_out(
    rankings: tuple[list[int], list[int], list[int]],
    found_and_tools: tuple[int, int],
    depth: int,
    weights: tuple[float, float, float],
    k: float,
    tool_share: float,
) -> None:
    everything = candidates(rankings, *found_and_tools)
    lexical, dense, sentence = weights
    fuse = Fuse(lexical=lexical, dense=dense, sentence=sentence, k=k, tool_share=tool_share)

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
