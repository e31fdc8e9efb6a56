"""A linear combination of the scores of vectors, words, and what people say for words."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Place
from kitpick_rescorers.associations import associations_of
from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.features import stems
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages import Combine, Fuse

QUERY = np.array([1.0, 0.0], dtype=np.float32)


@pytest.fixture
def state(bench):
    """By words, by vectors, and by what people say for it, another one is first."""
    return bench.state(
        [
            bench.candidate("files/copy", lexical=1, dense=3, vector=(0.6, 0.8)),
            bench.candidate("files/move", lexical=2, dense=1, vector=(1.0, 0.0)),
            bench.candidate("mail/send", dense=2, vector=(0.8, 0.6)),
        ],
        vector=QUERY,
    )


def scores_of(state):
    return {item.id: item.score for item in state.ranked}


def test_is_the_sum_of_cosine_association_and_words(bench, state):
    after = bench.apply(state, Combine(associations=0.5, lexical=0.1))
    said = dict(zip(bench.ids(state), associations_of(stems(state.query), state.ranked), strict=True))
    words = len(set(state.query.split()))
    for item in state.ranked:
        place = item.candidate.lexical
        expected = float(item.candidate.vector @ QUERY) + 0.5 * said[item.id]
        expected += 0.1 * (place.score if place else 0.0) / sqrt(words)
        assert scores_of(after)[item.id] == pytest.approx(expected)
    assert bench.ids(after) == sorted(scores_of(after), key=scores_of(after).__getitem__, reverse=True)
    assert [item.first_rank for item in after.ranked] == [1, 2, 3], "it is the first-stage order from here on"


def test_vectors_alone_give_their_order_whatever_the_list_was(bench, state):
    after = bench.apply(state, Fuse(lexical=9.0), Combine(associations=0.0, lexical=0.0))
    assert bench.ids(after) == ["files/move", "mail/send", "files/copy"]
    assert scores_of(after)["mail/send"] == pytest.approx(0.8)


@pytest.mark.parametrize("ranking", ["sentence", "intent"])
def test_the_rank_counts_where_a_third_ranking_made_the_list(bench, ranking):
    def combined(**places):
        found = [
            replace(bench.candidate("files/copy", dense=2, vector=(0.8, 0.6)), **places),
            bench.candidate("files/move", dense=1, vector=(0.9, 0.43588989)),
        ]
        state = bench.state(found, vector=QUERY)
        return bench.apply(state, Combine(associations=0.0, lexical=0.0, rank_weight=0.3))

    assert scores_of(combined()) == pytest.approx({"files/copy": 0.8, "files/move": 0.9})
    several = scores_of(combined(**{ranking: Place(1, 1.0)}))
    assert several == pytest.approx({"files/copy": 0.8, "files/move": 0.9 - 0.3 * log(2)})


def test_reasons_name_what_was_added(bench, state):
    after = bench.apply(state, Combine(associations=0.0))
    assert after.reasons["files/move"].startswith("1.00 by its vector + 0.00 by what people say for it + ")


def test_without_a_vector_the_order_stays(bench, state):
    with pytest.raises(StageUnavailable, match="no usable query vector"):
        bench.apply(bench.state([item.candidate for item in state.ranked]), Combine())


def test_an_optional_one_is_skipped_where_there_are_no_vectors(bench, state):
    texts = bench.state([replace(item.candidate, dense=None) for item in state.ranked], vector=QUERY)
    assert Combine().reason_to_skip(texts) == Combine(optional=True).reason_to_skip(state) == ""
    assert Combine(optional=True).reason_to_skip(texts) == "the candidates come without a dense ranking"


def test_the_quick_profile_reads_nothing():
    needs = load_profile("quick").needs()
    assert "scorer" not in needs
    assert {"lexical", "dense", "sentence", "vector"} <= needs
