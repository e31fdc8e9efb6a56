"""Counts of a committed state: asked for once, kept by state and filter, bounded."""

from __future__ import annotations

import json

import numpy as np

from kitpick_engines.contract import Filter, IndexSchema, SearchRequest, Sentence
from kitpick_engines.lexical import FIELDS, Terms
from kitpick_engines.opensearch import OpenSearchDialect
from kitpick_engines.remote.live_index import LiveIndex
from kitpick_engines.remote.queries import CommittedIndex, IndexQuestion, Live
from kitpick_engines.remote.ranking import CountCache, Counts
from kitpick_engines.remote.server import Json
from kitpick_engines.remote.state import IndexState

SHOWN = {"match_all": {}}
ANN = Filter(principals=frozenset({"ann"}))


def answer(question: dict, holders: int) -> dict:
    """As a server answers: every term has so many holders, every field 100 words, of 10 documents."""
    asked = question["aggs"]
    counted: dict = {name: {"value": 100.0} for name in FIELDS if name in asked}
    if "holders" in asked:
        buckets = {number: {"doc_count": holders} for number in asked["holders"]["filters"]["filters"]}
        counted["holders"] = {"buckets": buckets}
    return {"hits": {"total": {"value": 10}}, "aggregations": counted}


def asked_terms(question: dict) -> list[str]:
    return [each["term"]["words"] for each in question["aggs"]["holders"]["filters"]["filters"].values()]


def test_only_what_is_missing_is_asked_for():
    first = Counts().question(["a", "b"], SHOWN)
    assert set(first["aggs"]) == {*FIELDS, "holders"}
    counts = Counts().with_answer(["a", "b"], answer(first, 3))
    assert (counts.documents, counts.words, counts.holders) == (10, (100.0,) * len(FIELDS), {"a": 3, "b": 3})
    assert counts.question(["b", "a"], SHOWN) is None
    second = counts.question(["b", "c"], SHOWN)
    assert (set(second["aggs"]), asked_terms(second)) == ({"holders"}, ["c"])
    assert counts.with_answer(["b", "c"], answer(second, 5)).holders == {"a": 3, "b": 3, "c": 5}


def test_counts_are_of_one_state_and_one_filter():
    schema = IndexSchema("m", 4, 1)
    before, after = (Live("apis-1", IndexState(schema, generation=n)) for n in (1, 2))
    cache = CountCache()
    cache.keep(before, ANN, Counts(10, (1.0,), {"a": 3}))
    assert cache.known(before, ANN).holders == {"a": 3}
    assert cache.known(after, ANN) == cache.known(before, Filter()) == Counts()


def test_neither_terms_nor_filters_grow_without_end(monkeypatch):
    monkeypatch.setattr("kitpick_engines.remote.ranking._TERMS", 2)
    monkeypatch.setattr("kitpick_engines.remote.ranking._FILTERS", 2)
    cache, live = CountCache(), Live("apis-1", IndexState(IndexSchema("m", 4, 1)))
    for tenant in ("a", "b", "c"):
        cache.keep(live, Filter(tenant=tenant), Counts(1, (1.0,), {"x": 1}))
    assert [bool(cache.known(live, Filter(tenant=t)).words) for t in ("a", "b", "c")] == [False, True, True]
    cache.keep(live, ANN, Counts(1, (1.0,), {"x": 1, "y": 1, "z": 1}))
    assert cache.known(live, ANN) == Counts(1, (1.0,), {})


class Sent:
    """Answers every search with nothing found, and keeps what was asked."""

    def __init__(self) -> None:
        self.rounds: list[list[Json]] = []

    def ask(self, question: IndexQuestion) -> tuple[CommittedIndex, list[Json]]:
        live = Live("apis-1", IndexState(IndexSchema("m", 4, 1)))
        self.rounds.append(bodies := list(question(live)))
        none: Json = {"hits": {"hits": []}}
        return live, [answer(each, 3) if "aggs" in each else none for each in bodies]


def test_a_filter_stands_twice_for_each_sentence_and_once_for_all_counts():
    sent, unit = Sent(), np.ones(4, np.float32)
    index = LiveIndex("catalog", sent, OpenSearchDialect("hnsw", "lucene"), Terms())
    texts = ("pay the bill", "book a flight", "pay for a flight")
    wanted = Filter(principals=frozenset(f"team {number}" for number in range(100)))
    request = SearchRequest(". ".join(texts), unit, 5, wanted, tuple(Sentence(each, unit) for each in texts))
    for _ in range(2):
        index.search(request)
    first, again = ([json.dumps(body).count('"team 99"') for body in bodies] for bodies in sent.rounds)
    assert first == [1] * (2 * (1 + len(texts)) + 1)
    assert again == [1] * (2 * (1 + len(texts)))
    assert asked_terms(sent.rounds[0][-1]) == ["bill", "book", "flight", "pai"]
