from __future__ import annotations

import random

from kitpick_training.data.query_kind_requests import ClauseBook, joined_requests, query_kind_examples


def test_half_of_the_joined_requests_need_several_tools(catalog):
    book = ClauseBook(catalog, "train", 0.3)
    examples = list(joined_requests(book, 40, random.Random(0)))
    assert sum(example.multi for example in examples) == 20


def test_several_apis_of_one_tool_are_one_tool(catalog):
    book = ClauseBook(catalog, "train", 0.3)
    rng = random.Random(0)
    for _ in range(50):
        clauses, key = book.of_one_tool(3, rng)
        assert set(clauses) <= {request.text for request in book.by_tool[key]}
        assert len(set(clauses)) == 3


def test_requests_for_several_tools_name_different_ones(catalog):
    book = ClauseBook(catalog, "train", 0.05)
    rng = random.Random(0)
    for _ in range(50):
        clauses, _ = book.of_several_tools(2, same_category=False, rng=rng)
        assert len(clauses) == 2


def test_the_clauses_of_a_book_are_of_its_split(catalog):
    train, validation = (ClauseBook(catalog, split, 0.4) for split in ("train", "validation"))
    assert train.tools
    assert validation.tools
    assert not set(train.tools) & set(validation.tools)


def test_real_examples_are_equal_for_equal_seeds_and_disjoint_by_split(shared_data):
    train, again, validation = (
        query_kind_examples(shared_data, split, 1, 200, 300) for split in ("train", "train", "validation")
    )
    assert train == again
    assert {example.source for example in train} == {"openapi", "taskbench", "metatool", "sealtools", "bfcl"}
    assert not {example.text for example in train} & {example.text for example in validation}
    assert all(any(e.multi is kind for e in validation) for kind in (True, False))
