from __future__ import annotations

import random

import msgspec
import pytest

from kitpick_training.data.prepared import prepare, title_words
from kitpick_training.data.ranking_lists import (
    ListSampler,
    Mixture,
    draw_ask,
    draw_list,
    draw_negatives,
    validation_lists,
)
from kitpick_training.data.records import LabelledRequest
from kitpick_training.data.split import take_split

pytest.importorskip("sklearn")
MIXTURE = Mixture({"openapi": 1.0})


@pytest.fixture
def prepared(catalog, encode):
    return prepare(take_split(catalog, "train", 0.3), encode)


def sampler(prepared, seed=1):
    return ListSampler({"openapi": prepared}, [], MIXTURE, seed, list_size=6)


def test_a_step_draws_the_same_lists_whenever_it_is_asked(prepared):
    first = sampler(prepared)
    drawn = [first.batch(step, 4) for step in range(5)]
    assert sampler(prepared).batch(3, 4) == drawn[3]
    assert drawn[0] != drawn[1]
    assert sampler(prepared, seed=2).batch(3, 4) != drawn[3]


def test_labels_mark_the_texts_that_answer(prepared):
    rng = random.Random(0)
    for _ in range(200):
        ask = draw_ask(prepared, MIXTURE, rng)
        negatives = draw_negatives(prepared, ask, 5, rng)
        assert not set(ask.relevant) & set(negatives)
        assert len(set(negatives)) == len(negatives)


def test_lists_have_distinct_texts_and_some_have_no_answer(prepared):
    lists = [item for step in range(60) for item in sampler(prepared).batch(step, 4)]
    assert all(len(set(item.texts)) == len(item.texts) == len(item.relevant) <= 6 for item in lists)
    unanswerable = sum(not item.answerable for item in lists) / len(lists)
    assert 0.04 < unanswerable < 0.18
    assert {sum(item.relevant) for item in lists} == {0, 1, 2, 3}


def test_requests_as_they_were_written_are_joined_as_often_as_wanted(catalog, encode):
    ids = list(catalog.documents)
    asked = tuple(LabelledRequest(f"do {id_}", (id_,)) for id_ in ids)
    prepared = prepare(msgspec.structs.replace(catalog, requests=asked), encode)
    always = Mixture({"openapi": 1.0}, two_asks=1.0, three_asks=0.0, same_tool=0.0, natural_joined=1.0)
    rng = random.Random(0)
    joined = [draw_ask(prepared, always, rng) for _ in range(40)]
    assert {len(ask.relevant) for ask in joined} <= {1, 2}
    assert sum(len(ask.relevant) == 2 for ask in joined) > 20
    whole = [
        all(
            prepared.catalog.requests[request].text.casefold() in ask.text.casefold()
            for request in ask.requests
        )
        for ask in joined
    ]
    assert sum(whole) > 25, "hurried typing changes the others"
    alone = [draw_ask(prepared, MIXTURE, rng) for _ in range(40)]
    assert all(len(ask.relevant) == 1 for ask in alone)


def test_a_document_that_says_the_same_is_no_negative_unless_the_tool_is_named(prepared):
    rng = random.Random(0)
    for _ in range(200):
        ask = draw_ask(prepared, MIXTURE, rng)
        for negative in draw_negatives(prepared, ask, 5, rng):
            same = [r for r in ask.relevant if prepared.means_the_same(r, negative)]
            assert not same or ask.tool_named


def test_what_would_answer_as_fairly_is_neither_negative_nor_validated(catalog, encode):
    ids = list(catalog.documents)
    fair = {f"do {right}": other for right, other in zip(ids, [*ids[1:], ids[0]], strict=True)}
    asked = tuple(
        LabelledRequest(text, (right,), offered=(other,), also=(other,))
        for right, (text, other) in zip(ids, fair.items(), strict=True)
    )
    prepared = prepare(msgspec.structs.replace(catalog, requests=asked), encode)
    everything = range(len(prepared.documents))
    rng = random.Random(0)
    lists = validation_lists(prepared, MIXTURE, 40, lambda asks: [everything] * len(asks), seed=1)
    lists += [draw_list(prepared, MIXTURE, len(ids), rng) for _ in range(40)]
    as_written = [item for item in lists if item.query in fair]
    assert len(as_written) > 30
    for item in as_written:
        assert catalog.documents[fair[item.query]] not in [
            prepared.documents[prepared.texts.index(text)] for text in item.texts
        ]


def test_validation_lists_hold_nothing_of_the_training_split(catalog, encode):
    train = prepare(take_split(catalog, "train", 0.4), encode)
    held_out = prepare(take_split(catalog, "validation", 0.4), encode)
    everything = range(len(held_out.documents))
    lists = validation_lists(held_out, MIXTURE, 30, lambda asks: [everything] * len(asks), seed=1)
    trained = {text for step in range(50) for item in sampler(train).batch(step, 4) for text in item.texts}
    assert not trained & {text for item in lists for text in item.texts}
    assert all(item.answerable for item in lists)


def test_neighbours_are_found_once(catalog, encode, tmp_path):
    split = take_split(catalog, "train", 0.3)
    first = prepare(split, encode, tmp_path)
    again = prepare(split, None, tmp_path)
    assert (first.neighbours == again.neighbours).all()


def test_a_list_is_never_larger_than_the_catalog(catalog, encode):
    ids = [i for i in catalog.documents if i.startswith("0/")]
    tiny = msgspec.structs.replace(
        catalog,
        documents={i: catalog.documents[i] for i in ids},
        requests=tuple(r for r in catalog.requests if r.relevant[0] in ids),
    )
    item = draw_list(prepare(tiny, encode), MIXTURE, 8, random.Random(1))
    assert len(item.texts) <= 4


def test_titles_are_compared_by_content_words():
    assert title_words("Gets all of the Users") == {"get", "user"}


def test_only_unlabelled_texts_of_other_tools_are_doubtful(prepared):
    document_of = dict(zip(prepared.texts, prepared.documents, strict=True))
    doubts = 0
    for step in range(60):
        for item in sampler(prepared).batch(step, 4):
            right = [text for text, label in zip(item.texts, item.relevant, strict=True) if label]
            tools = {document_of[text].tool_key for text in right}
            doubtful = [text for text, doubt in zip(item.texts, item.doubtful, strict=True) if doubt]
            assert not set(right) & set(doubtful)
            assert not tools & {document_of[text].tool_key for text in doubtful}
            doubts += len(doubtful)
    assert doubts > 100
