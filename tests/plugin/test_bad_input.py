"""What nobody should send, sent to a real node: a clear answer each, and never one that blames the server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from double import Double, forwarding, status
from real_service import Service
from searching import MAPPINGS, QUERY, Refused, Search, documents, ids, report
from sizes import sized

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

VALUES: list[Any] = [
    *(True, -1, 2**70, 1.5, "", "x" * 5_000, [], {}),
    *([1], [None], ["a", {}], {"stages": 3}),
]
"""One of every type that JSON has, and some that hold each other.

No lone surrogate: OpenSearch 3.5 itself cannot keep a pipeline that holds one, whatever its processors (503).
"""

OPTIONS = (
    *("profile", "vector_model", "k", "window", "deadline_ms", "on_failure", "rounds", "explain"),
    "query_path",
)
FIELDS = (
    *("category_field", "tool_field", "api_field", "tool_key_field", "deprecated_field", "effect_field"),
    *("needs_field", "gives_field", "vector_field", "stored_vector_field", "text_fields", "max_fetched"),
)


def answered(search: Search, method: str, path: str, body: object = None) -> tuple[int, str]:
    """The status of an answer, and the reason of one that refuses."""
    try:
        search.call(method, path, body)
    except Refused as refused:
        return refused.status, refused.body
    return 200, ""


class TestEveryWrongType:
    """A pipeline is taken or refused; with one that was taken, searches are answered or refused."""

    @pytest.mark.parametrize("key", [*OPTIONS, *FIELDS])
    def test_in_a_pipeline(self, search: Search, key: str) -> None:
        for value in VALUES:
            processors = {"response_processors": [{"kitpick": {key: value}}]}
            self.tried(search, processors, key, value)

    @pytest.mark.parametrize("key", ["window", "fields"])
    def test_in_the_processor_of_the_window(self, search: Search, key: str) -> None:
        for value in VALUES:
            made = {"request_processors": [{"kitpick_window": {key: value}}], "response_processors": []}
            made["response_processors"] = [{"kitpick": {"query_path": "query.match.text.query"}}]
            self.tried(search, made, key, value)

    def tried(self, search: Search, pipeline: dict[str, Any], key: str, value: object) -> None:
        code, said = answered(search, "PUT", "/_search/pipeline/wrong", pipeline)
        assert code in (200, 400), (key, value, said)
        if code == 200:
            body = {"query": {"match": {"text": QUERY}}, "size": 2}
            code, said = answered(search, "POST", "/apis/_search?search_pipeline=wrong", body)
            assert code in (200, 400), (key, value, said)
        else:
            assert key in said, (value, said)

    @pytest.mark.parametrize("key", [*OPTIONS, "query"])
    def test_in_a_request(self, search: Search, key: str) -> None:
        for value in VALUES:
            body = {"query": {"match": {"text": QUERY}}, "size": 2, "ext": {"kitpick": {key: value}}}
            code, said = answered(search, "POST", "/apis/_search?search_pipeline=kitpick", body)
            assert code in (200, 400), (key, value, said)

    @pytest.mark.parametrize("key", ["text", "filter", "tenant", "principals", "boost", "_name"])
    def test_in_the_query_of_our_own(self, search: Search, double: Double, key: str) -> None:
        for value in VALUES:
            body = {"query": {"kitpick": {"text": "a file", key: value}}}
            code, said = answered(search, "POST", "/apis/_search", body)
            assert code == 400, (key, value, said)

    @pytest.mark.parametrize("section", ["ext", "ext.kitpick", "query.kitpick"])
    def test_where_an_object_belongs(self, search: Search, section: str) -> None:
        for value in VALUES:
            body: Any = value
            for name in reversed(section.split(".")):
                body = {name: body}
            code, said = answered(search, "POST", "/apis/_search?search_pipeline=kitpick", body)
            assert code == 400 or value == {}, (section, value, said)

    def test_in_a_path_nobody_could_follow(self, search: Search) -> None:
        """Every way to cut it is tried: a long one would keep a thread of the node busy for minutes."""
        section = {"query_path": "." * 1_001}
        processors = {"response_processors": [{"kitpick": section}]}
        for method, path, body in (
            ("POST", "/apis/_search?search_pipeline=kitpick", {"ext": {"kitpick": section}}),
            ("PUT", "/_search/pipeline/wrong", processors),
        ):
            code, said = answered(search, method, path, body)
            assert code == 400
            assert "[query_path] has at most 1000 characters" in said


BEYOND = {"from": 2**31 - 2, "size": 2**31 - 2}
"""Their sum is no number of 32 bits."""


class TestPagesThatAreNotThere:
    @pytest.mark.parametrize("body", [{"from": 9_000}, {"from": 31, "size": 1}, {"from": 9_990, "size": 10}])
    def test_from_behind_the_last_hit_finds_nothing(self, search: Search, body: dict[str, Any]) -> None:
        answer = search(body)
        assert ids(answer) == []
        assert answer["hits"]["total"]["value"] == 30

    @pytest.mark.parametrize("body", [{"from": 10_000}, {"from": -1}, {"size": -1}, {"size": 10_001}, BEYOND])
    def test_what_the_server_refuses_is_refused_with_its_words(
        self, search: Search, body: dict[str, Any]
    ) -> None:
        code, said = answered(search, "POST", "/apis/_search?search_pipeline=kitpick", body)
        plain = answered(search, "POST", "/apis/_search", body)
        assert code == plain[0] == 400
        assert json.loads(said)["error"]["root_cause"] == json.loads(plain[1])["error"]["root_cause"]


MANY = 150
SECONDS = sized("KITPICK_MANY_SECONDS", 0, 600)
"""For so long indexes are made beyond `MANY`, up to `MOST`."""
MOST = 1_000
"""What the node of the tests holds with room for what other tests ask of it: 1,461 filled its heap."""


class Many(NamedTuple):
    pattern: str
    count: int


@pytest.fixture(scope="module")
def many(search: Search) -> Iterator[Many]:
    body = {"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "mappings": MAPPINGS}
    body["settings"] |= {"index.knn": True}
    search.put("/_cluster/settings", {"transient": {"cluster.max_shards_per_node": 20_000}})
    until, count = time.monotonic() + SECONDS, 0
    try:
        while count < MANY or (count < MOST and time.monotonic() < until):
            search.put(f"/many-{count:05d}?wait_for_active_shards=0", body)
            count += 1
        print(f"{count} indexes")
        lines: list[Any] = []
        for number, (key, item) in enumerate(documents(30).items()):
            lines += [{"index": {"_index": f"many-{5 * number:05d}", "_id": key}}, item]
        search.call("POST", "/_bulk?refresh=true", lines)
        yield Many("many-*", count)
    finally:
        search.call("DELETE", "/many-*")


@pytest.mark.sweep
class TestManyIndexes:
    def test_a_pattern_over_them_is_rescored(self, search: Search, many: Many) -> None:
        answer = search({"size": 5}, index=many.pattern)
        assert report(answer)["status"] == "rescored"
        assert answer["_shards"]["total"] == answer["_shards"]["successful"] == many.count
        assert len(ids(answer)) == 5

    def test_closed_ones_are_left_out_of_a_pattern_and_named_otherwise(
        self, search: Search, many: Many
    ) -> None:
        search.call("POST", "/many-0000*/_close")
        try:
            answer = search({"size": 5}, index=many.pattern)
            assert report(answer)["status"] == "rescored"
            assert answer["_shards"]["total"] == many.count - 10
            code, said = answered(search, "POST", "/many-00000/_search?search_pipeline=kitpick", {})
            assert code == 400
            assert "index_closed_exception" in said
        finally:
            search.call("POST", "/many-0000*/_open")

    def test_the_query_of_our_own_refuses_the_pattern(self, search: Search, many: Many) -> None:
        body = {"query": {"kitpick": {"text": "a"}}}
        code, said = answered(search, "POST", f"/{many.pattern}/_search", body)
        assert code == 400
        assert "one catalog" in said


FOREIGN: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "numbers": ({"type": "integer"}, [1, 2, 3]),
    "objects": ({"type": "object"}, [{"a": 1}, {"a": 2}, [{"a": 3}, {"a": 4}]]),
    "nested": ({"type": "nested"}, [[{"a": "x"}], {"a": "y"}, []]),
    "points": ({"type": "geo_point"}, [{"lat": 1, "lon": 2}, "3,4", [5, 6]]),
    "dates": ({"type": "date"}, ["2026-01-01", 0, "2026-01-02"]),
    "binary": ({"type": "binary"}, ["AAAA", "////", "AAAAAAAAAAA="]),
    "flags": ({"type": "boolean"}, [True, False, "true"]),
    "nulls": ({"type": "keyword"}, [None, [None], []]),
}
"""Mappings that a field of somebody else's may have, and three values of each."""


class TestMappingsOfStrangers:
    @pytest.mark.parametrize("kind", FOREIGN)
    @pytest.mark.parametrize("part", [*FIELDS[:-1], "everything"])
    def test_a_field_of_another_type_takes_no_search_down(self, search: Search, kind: str, part: str) -> None:
        mapping, values = FOREIGN[kind]
        if part == FIELDS[0]:
            self.make(search, kind, mapping, values)
        parts = FIELDS[:-1] if part == "everything" else (part,)
        named = {each: ["foreign"] if each == "text_fields" else "foreign" for each in parts}
        pipeline = {
            "request_processors": [{"kitpick_window": {"window": 20, "fields": ["text", "foreign"]}}],
            "response_processors": [{"kitpick": {"query_path": "query.match.text.query", **named}}],
        }
        search.put(f"/_search/pipeline/foreign-{kind}", pipeline)
        answer = search({"size": 5}, index=f"foreign-{kind}", pipeline=f"foreign-{kind}")
        assert sorted(ids(answer)) == ["a", "b", "c"]
        assert report(answer)["status"] in ("rescored", "skipped")

    def make(self, search: Search, kind: str, mapping: dict[str, Any], values: list[Any]) -> None:
        items = {key: {"text": QUERY, "foreign": value} for key, value in zip("abc", values, strict=True)}
        properties = {"text": {"type": "text"}, "foreign": mapping}
        search.fill(f"foreign-{kind}", items, {"mappings": {"properties": properties}})


class TestACatalogOfAnotherVersion:
    """An index that is named as ours are, and holds something else."""

    @pytest.fixture(params=["no fields", "other fields"])
    def other(self, search: Search, request: pytest.FixtureRequest) -> str:
        properties: dict[str, Any] = {"died": {"type": "long"}}
        if request.param == "other fields":
            kinds = {
                "words": "integer",
                "text": "keyword",
                "vector": "text",
                "tenant": "date",
                "public": "text",
            }
            properties |= {name: {"type": kind} for name, kind in kinds.items()}
        name = f"other-apis-{'a' * 12}-1"
        search.fill(name, {"a": {"died": 1}}, {"mappings": {"properties": properties}})
        search.put(f"/{name}/_alias/other", {"filter": {"bool": {"must_not": [{"term": {"died": 9}}]}}})
        return "other"

    @pytest.mark.needs("serve", "onnxruntime", "weights")
    def test_it_is_answered_with_words_or_refused(
        self, search: Search, double: Double, service: Service, other: str
    ) -> None:
        body = {"query": {"kitpick": {"text": "a file", "tenant": "acme"}}}
        with double.behaving(forwarding(*service, path="/v1/search")):
            code, said = answered(search, "POST", f"/{other}/_search", body)
        assert code in (200, 400), said

    def test_without_the_rescorer_as_well(self, search: Search, double: Double, other: str) -> None:
        body = {"query": {"kitpick": {"text": "a file", "tenant": "acme"}}}
        with double.behaving(status(500)):
            code, said = answered(search, "POST", f"/{other}/_search", body)
        assert code in (200, 400), said
