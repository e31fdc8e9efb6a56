"""A search that the service leads and its caller runs: what is asked for, in what order, and its end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitpick_engines.contract import Filter, IndexSchema, Vector
from kitpick_engines.lexical import FIELDS
from kitpick_engines.remote.indexes import is_of_schema
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_service.dialects.search import Relay, RelayedState, SearchesAsked
from kitpick_service.errors import Invalid
from kitpick_service.models import QueryVectors
from kitpick_service.ticket import Owner

SCHEMA = IndexSchema("m", 4, 1)
COMMITTED = {"bool": {"filter": [{"range": {"born": {"lte": 3}}}]}}
STATE = RelayedState(SCHEMA, COMMITTED, {"term": {"category": "c"}})


class TestARelay:
    def test_it_asks_for_what_was_not_brought(self) -> None:
        relay = Relay(STATE, [[{"first": 1}]])
        assert relay.ask(lambda _: [{"size": 1}]) == (STATE, [{"first": 1}])
        with pytest.raises(SearchesAsked) as asked:
            relay.ask(lambda _: [{"size": 2}])
        assert asked.value.searches == ({"size": 2},)

    def test_nothing_is_asked_for_nothing(self) -> None:
        assert Relay(STATE, []).ask(lambda _: []) == (STATE, [])

    def test_another_number_of_answers_is_refused(self) -> None:
        with pytest.raises(Invalid, match="1 answers to 2 searches"):
            Relay(STATE, [[{}]]).ask(lambda _: [{}, {}])

    def test_all_conditions_hold_beside_who_asks(self) -> None:
        shown = STATE.visible(Filter(tenant="acme"))["bool"]["filter"]
        assert shown[:2] == [COMMITTED, {"term": {"category": "c"}}]
        assert {"terms": {"tenant": ["", "acme"]}} in shown
        assert {"term": {"public": True}} in shown


class TestQueryVectors:
    def test_a_text_is_encoded_once_for_each_key(self) -> None:
        asked: list[tuple[str, ...]] = []

        def encode(texts: Any) -> list[Vector]:
            asked.append(tuple(texts))
            return [np.full(2, len(text), np.float32) for text in texts]

        known, ann, bob = QueryVectors(most=3), Owner("ann"), Owner("bob")
        assert [v[0] for v in known.of(ann, ["a", "bb"], encode)] == [1, 2]
        assert [v[0] for v in known.of(ann, ["bb", "ccc", "a"], encode)] == [2, 3, 1]
        known.of(bob, ["a"], encode)  # "bb", read longest ago, makes room
        known.of(ann, ["a", "bb"], encode)
        assert asked == [("a", "bb"), ("ccc",), ("a",), ("bb",)]


def test_an_indexs_name_says_what_it_was_built_with() -> None:
    assert is_of_schema(f"tools-apis-{SCHEMA.fingerprint}-12", SCHEMA)
    assert not is_of_schema(f"tools-apis-{IndexSchema('n', 4, 1).fingerprint}-12", SCHEMA)
    assert not is_of_schema(f"tools-{SCHEMA.fingerprint}", SCHEMA)


def nothing_found(search: dict[str, Any]) -> dict[str, Any]:
    """What a search server answers over an empty index."""
    answer: dict[str, Any] = {"hits": {"hits": [], "total": {"value": 0}}}
    if "aggs" in search:
        buckets = {number: {"doc_count": 0} for number in search["aggs"]["holders"]["filters"]["filters"]}
        answer["aggregations"] = {name: {"value": 0.0} for name in FIELDS}
        answer["aggregations"]["holders"] = {"buckets": buckets}
    return answer


@pytest.mark.needs("serve", "onnxruntime", "weights")
class TestAConversation:
    def call(self, service: Any, **more: Any) -> dict[str, Any]:
        encoder = service.service.models.encoder
        schema = IndexSchema(encoder.identity, encoder.dimensions, TEMPLATE_VERSION)
        index = f"tools-apis-{schema.fingerprint}-1"
        return {"query": "copy a file", "index": index, "committed": COMMITTED, **more}

    def test_it_ends_with_a_ranking(self, service: Any) -> None:
        first = service.post("/v1/search", self.call(service)).json()
        assert first["ranking"] is None
        knn, words, counting = first["searches"]
        assert COMMITTED in knn["query"]["knn"]["vector"]["filter"]["bool"]["filter"]
        assert words["query"]["bool"]["must"]
        assert set(counting["aggs"]) == {*FIELDS, "holders"}
        found = [[nothing_found(each) for each in first["searches"]]]
        last = service.post("/v1/search", self.call(service, found=found)).json()
        assert last["searches"] == []
        assert last["ranking"]["results"] == []
        assert "encoder" in last["ranking"]["models"]

    def test_each_sentence_is_searched_too(self, service: Any) -> None:
        one = service.post("/v1/search", self.call(service)).json()
        two = service.post("/v1/search", self.call(service, query="Copy this file. Then share that photo."))
        searches = two.json()["searches"]
        assert len(searches) == 3 * (len(one["searches"]) - 1) + 1
        assert [number for number, each in enumerate(searches) if "aggs" in each] == [len(searches) - 1]

    def test_an_index_of_another_model_is_searched_by_words(self, service: Any) -> None:
        other = self.call(service, index="tools-apis-0123456789ab-1")
        first = service.post("/v1/search", other).json()
        assert not any("knn" in each["query"] for each in first["searches"])
        found = [[nothing_found(each) for each in first["searches"]]]
        (degraded, *_) = service.post("/v1/search", {**other, "found": found}).json()["ranking"]["degraded"]
        assert degraded["stage"] == "embed"
        assert "another model" in degraded["reason"]

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ({"query": " "}, "query: is empty"),
            ({"query": "\u200b\u2060"}, "query: is empty"),
            ({"found": [[{"hits": {"hits": []}}]]}, "found: 1 answers to 3 searches"),
            ({"found": [[{"hits": 1}, {}, {}]]}, "found: no answers of a search server"),
            ({"filter": []}, "filter"),
        ],
    )
    def test_what_is_refused(self, service: Any, more: dict[str, Any], says: str) -> None:
        refused = service.post("/v1/search", self.call(service, **more))
        assert refused.status_code == 422
        assert says in refused.json()["error"]["message"]
