from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.contract import Candidate, Filter, Place, SearchRequest, Sentence
from kitpick_engines.sentences import MAX_SENTENCES, SIZE, searches_of, sentences_of, with_sentences

EMPTY = np.zeros(0, np.float32)


def candidate(name: str, lexical: int | None = None, dense: int | None = None) -> Candidate:
    lexical_place = None if lexical is None else Place(lexical, 1.0)
    dense_place = None if dense is None else Place(dense, 1.0)
    return Candidate(name, "c", "t", name, name, EMPTY, lexical_place, dense_place)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("", ()),
        ("list the buckets", ()),
        ("list the buckets.", ()),
        ("List the buckets. Thanks!", ()),
        (
            "I fly to Rome. Find a hotel there! And the weather?",
            ("I fly to Rome.", "Find a hotel there!", "And the weather?"),
        ),
        ("find a cheap hotel\nbook the next flight", ("find a cheap hotel", "book the next flight")),
        ("use v1.2 of the api; then list all users", ("use v1.2 of the api;", "then list all users")),
    ],
)
def test_a_request_is_cut_where_its_sentences_end(request_, expected):
    assert sentences_of(request_) == expected


@given(st.text(alphabet="ab .!?\n", max_size=300))
def test_sentences_are_parts_of_the_request_and_never_one_alone(request_):
    found = sentences_of(request_)
    assert len(found) != 1
    assert len(found) <= MAX_SENTENCES
    assert all(part in request_ and len(part.split()) >= 3 for part in found)


def test_every_sentence_is_asked_by_the_filter_of_the_whole():
    shown = Filter(principals=frozenset({"ann"}))
    wanted = SearchRequest("whole", None, 500, shown, (Sentence("one", None), Sentence("two", None)))
    assert searches_of(wanted) == [
        SearchRequest("whole", None, 500, shown),
        SearchRequest("one", None, SIZE, shown),
        SearchRequest("two", None, SIZE, shown),
    ]


def test_names_have_as_many_candidates_as_the_first_of_them():
    wanted = SearchRequest("one", None, 200, sentences=(Sentence("two", None),), named=True)
    assert [(each.text, each.size, each.named) for each in searches_of(wanted)] == [
        ("one", 200, True),
        ("two", 200, True),
    ]


def test_the_best_place_in_any_sentence_counts_in_each_ranking():
    """Sums of 1 / (5 + rank): both 1/6 + 1/6, one 1/6, late 1/7."""
    whole = [candidate("late", lexical=1), candidate("both", dense=9)]
    first = [candidate("both", lexical=1, dense=4), candidate("late", lexical=2)]
    second = [candidate("one", lexical=1), candidate("both", dense=1)]
    found = with_sentences([whole, first, second])
    assert [each.id for each in found] == ["late", "both", "one"]
    assert {each.id: each.sentence.rank for each in found} == {"both": 1, "one": 2, "late": 3}
    late, both, one = found
    assert both.sentence.score == pytest.approx(2 / 6)
    assert (late.lexical.rank, both.dense.rank) == (1, 9)
    assert (one.lexical, one.dense) == (None, None)
