"""A judged dataset is refused when it cannot be judged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_evaluation.dataset import JudgedQuery, check_queries, select
from kitpick_evaluation.errors import InvalidDataset


def query(id_: str = "q1", text: str = "do it", relevant: str = "a", subset: str = "all") -> JudgedQuery:
    return JudgedQuery(id_, text, frozenset(relevant), subset)


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        ([], "no queries"),
        ([query(), query()], "occurs twice"),
        ([query(text="  ")], "is empty"),
        ([query(relevant="")], "no relevant"),
        ([query(relevant="ab")], "lacks \\(1\\), e.g. 'b': known are 'a'"),
    ],
)
def test_what_cannot_be_judged_is_refused(queries: list[JudgedQuery], reason: str) -> None:
    with pytest.raises(InvalidDataset, match=reason):
        check_queries("d", queries, {"a"})


def test_a_selection_spreads_over_the_whole_order() -> None:
    queries = [query(str(n), subset="first" if n < 50 else "second") for n in range(100)]
    chosen = select(queries, 10)
    assert len(chosen) == 10
    assert {q.subset for q in chosen} == {"first", "second"}
    assert select(queries, None) == tuple(queries)
    assert select(queries, 1000) == tuple(queries)


def test_requests_that_nothing_answers_pass_where_they_are_allowed_alone() -> None:
    sound, unanswerable = [query(), query("q2")], [query(), query("q2", relevant="")]
    check_queries("d", sound, {"a"})
    check_queries("d", unanswerable, {"a"}, unanswerable=True)
    with pytest.raises(InvalidDataset, match="no relevant"):
        check_queries("d", unanswerable, {"a"})


def test_an_api_in_two_groups_is_refused() -> None:
    twice = JudgedQuery("q", "do it", frozenset("abc"), groups=(frozenset("ab"), frozenset("ac")))
    with pytest.raises(InvalidDataset, match="an API in two groups"):
        check_queries("d", [twice], set("abc"))


APIS = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(APIS, st.lists(APIS.filter(bool), min_size=1, max_size=3))
def test_of_each_group_the_first_api_counts_and_no_other(ranking: list[str], sets: list[list[str]]) -> None:
    groups: list[frozenset[str]] = []
    for members in sets:
        groups += [left] if (left := frozenset(members).difference(*groups)) else []
    judged = JudgedQuery("q", "do it", frozenset[str]().union(*groups), groups=tuple(groups))
    counted = judged.counted(ranking)
    assert len(set(counted)) == len(counted) == len(ranking)
    right = [place for place, name in enumerate(counted) if name in judged.counted_relevant]
    first = [next((place for place, api in enumerate(ranking) if api in group), None) for group in groups]
    assert right == sorted(place for place in first if place is not None)


@given(APIS, APIS)
def test_without_groups_a_ranking_counts_as_it_is(ranking: list[str], relevant: list[str]) -> None:
    judged = query(relevant="".join(relevant))
    assert judged.counted(ranking) == ranking
    assert judged.counted_relevant == judged.relevant
