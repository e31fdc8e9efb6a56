"""Depth by need: the shortest head of the list that is expected to be complete enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Enough

probability = st.floats(0.0, 1.0)


@pytest.fixture(scope="session")
def listed(bench):
    """A list with these probabilities, in this order."""

    def build(probabilities):
        state = bench.state(
            [bench.candidate(f"t/{number}", lexical=number + 1) for number in range(len(probabilities))]
        )
        pairs = zip(state.ranked, probabilities, strict=True)
        return replace(state, ranked=tuple(replace(item, probability=value) for item, value in pairs))

    return build


def kept(bench, state, **settings):
    return len(bench.apply(state, Enough(**settings)).ranked)


def test_a_clear_request_gets_few_hits_and_a_vague_one_many(bench, listed):
    assert kept(bench, listed([0.95, 0.02, 0.02, 0.01])) == 1
    assert kept(bench, listed([0.9, 0.85, 0.03, 0.01, 0.01])) == 2
    assert kept(bench, listed([0.2] * 10)) == 9


def test_what_the_cross_encoder_has_not_read_is_cut(bench, listed):
    assert kept(bench, listed([0.5, 0.4, None, None])) == 2


@given(
    probabilities=st.lists(probability, min_size=1, max_size=30).filter(lambda found: sum(found[:5]) > 1e-6),
    completeness=st.floats(0.01, 1.0),
    most=st.integers(5, 20),
)
def test_the_head_is_the_shortest_that_is_complete_enough(bench, listed, probabilities, completeness, most):
    count = kept(bench, listed(probabilities), completeness=completeness, most=most)
    head = probabilities[:most]
    assert 1 <= count <= len(head)
    assert sum(head[:count]) / sum(head) >= completeness - 1e-6
    if count > 1:
        assert sum(head[: count - 1]) / sum(head) < completeness + 1e-6


@given(
    probabilities=st.lists(probability, min_size=1, max_size=30).filter(lambda found: sum(found[:20]) > 1e-6),
    one=st.floats(0.01, 1.0),
    other=st.floats(0.01, 1.0),
)
def test_asking_for_more_completeness_never_gives_fewer_hits(bench, listed, probabilities, one, other):
    less, more = sorted((one, other))
    state = listed(probabilities)
    assert kept(bench, state, completeness=less) <= kept(bench, state, completeness=more)


def test_without_probabilities_the_list_keeps_its_length(bench, listed):
    with pytest.raises(StageUnavailable, match="no calibrated probabilities"):
        bench.apply(listed([None, None]), Enough())
