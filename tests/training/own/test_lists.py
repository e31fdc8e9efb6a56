"""Lists out of own requests: hard wrong texts beside the right ones, and splits that growth does not move."""

from __future__ import annotations

import random

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_training.data.split import EmptySplit
from kitpick_training.own.lists import OwnLists, OwnRequest, closed_catalog, split_queries


def request(right=("a",), proposed=tuple("bacdefgh"), text="do it"):
    return OwnRequest(text, right, proposed)


def test_a_list_holds_the_right_texts_and_no_text_twice():
    for seed in range(50):
        item = request().drawn(4, random.Random(seed))
        assert sorted(set(item.texts)) == sorted(item.texts)
        assert [text for text, right in zip(item.texts, item.relevant, strict=True) if right] == ["a"]
        assert len(item.texts) == 4


def test_wrong_texts_come_from_the_front_more_often():
    drawn = [text for seed in range(300) for text in request().drawn(3, random.Random(seed)).texts]
    assert drawn.count("b") > 2 * drawn.count("h")


def test_with_one_right_text_and_nothing_proposed_the_list_is_that_text():
    item = request(proposed=()).drawn(8, random.Random(0))
    assert (item.texts, item.relevant) == (("a",), (True,))


def test_more_right_texts_than_fit_leave_room_for_a_wrong_one():
    item = request(right=tuple("abcd")).drawn(3, random.Random(0))
    assert sorted(item.relevant) == [False, True, True]


def test_candidates_stand_as_they_were_proposed_even_without_a_right_one():
    item = request(right=("z",)).candidates()
    assert item.texts == tuple("bacdefgh")
    assert not item.answerable


def test_every_request_comes_up_once_before_one_comes_up_again():
    lists = OwnLists([request(text=str(i)) for i in range(5)], [request()], seed=1, list_size=4)
    asked = [item.query for step in range(5) for item in lists.batch(step, 2)]
    assert sorted(asked[:5]) == sorted(asked[5:]) == list("01234")
    assert lists.batch(3, 2) == lists.batch(3, 2)


def test_an_empty_split_is_refused():
    with pytest.raises(EmptySplit, match="train"):
        OwnLists([], [request()], 0, 4)
    with pytest.raises(EmptySplit, match="validation"):
        OwnLists([request()], [], 0, 4)
    with pytest.raises(EmptySplit):
        split_queries("mine", [JudgedQuery("1", "the only one", frozenset("a"))], 0.2)


def test_growth_moves_no_request_to_the_other_split():
    queries = [JudgedQuery(str(i), f"request {i}", frozenset("a")) for i in range(200)]
    few, many = split_queries("mine", queries[:100], 0.2), split_queries("mine", queries, 0.2)
    assert set(few[0]) <= set(many[0])
    assert set(few[1]) <= set(many[1])
    assert 20 < len(many[1]) < 60


def test_a_request_that_differs_in_case_or_space_is_in_the_same_split():
    queries = [JudgedQuery(str(i), f"request {i}", frozenset("a")) for i in range(50)]
    shouted = [JudgedQuery(q.id, f" {q.text.upper()} ", q.relevant) for q in queries]
    train, _ = split_queries("mine", [*queries, *shouted], 0.2)
    assert sorted(q.id for q in train) == sorted(2 * [q.id for q in train if q.text.islower()])


def test_a_closed_catalog_numbers_its_texts():
    documents = [
        ApiDocument(id=f"mine/{api}", source="mine", category="", tool="t", api=api, description=api)
        for api in ("one", "two", "three")
    ]
    queries = [
        JudgedQuery(str(i), f"ask {i}", frozenset({"mine/three", "mine/one"} if i % 2 else {"mine/two"}))
        for i in range(30)
    ]
    catalog = closed_catalog("mine", documents, queries, 0.3)
    assert len(catalog.texts) == 3
    assert set(catalog.relevant) == {(1,), (0, 2)}
    assert len(catalog.queries) + len(catalog.held_out.queries) == 30
