"""A query `kitpick` led by a double: what the node makes of answers that no good service gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from double import Call, Double, answering, ranked
from searching import Refused, Search, report

pytestmark = [pytest.mark.needs("jdk"), pytest.mark.slow]

COUNT = 80


@pytest.fixture(scope="module", autouse=True)
def catalog(search: Search) -> None:
    """An index as ingestion makes it, as far as the query looks at it, with two shards."""
    index = f"led-apis-{'a' * 12}-1"
    properties = {"id": {"type": "keyword"}, "number": {"type": "integer"}, "died": {"type": "long"}}
    items = {f"k{n:02d}": {"id": f"k{n:02d}", "number": n} for n in range(COUNT)}
    settings = {"number_of_shards": 2, "number_of_replicas": 0}
    search.fill(index, items, {"settings": settings, "mappings": {"properties": properties}})
    search.put(f"/{index}/_alias/led", {"filter": {"bool": {"must_not": [{"exists": {"field": "died"}}]}}})


EVERYTHING = {"size": COUNT, "query": {"match_all": {}}, "sort": ["id"], "_source": ["id"]}


def leading(searched: dict[str, Any], more: Callable[[Call], dict[str, Any]] = lambda call: {}) -> Any:
    """A service that wants one search, and ranks what it found in that order."""

    def make(call: Call) -> dict[str, Any]:
        if not call["found"]:
            return {"searches": [searched]}
        found = [hit["_source"]["id"] for hit in call["found"][0][0]["hits"]["hits"]]
        return {"ranking": ranked(found[: call["k"]], **more(call))}

    return answering(make)


def asked(search: Search, parameters: str = "", **body: Any) -> Any:
    whole = {"query": {"kitpick": {"text": "a file"}}, "_source": False, **body}
    return search.call("POST", f"/led/_search?{parameters}", whole)


def test_what_a_longer_ranking_was_made_without_is_told(search: Search, double: Double) -> None:
    without = {"stage": "cross_encode", "reason": "no time"}

    def more(call: Call) -> dict[str, Any]:
        return {"degraded": [without]} if call["k"] > 50 else {}

    with double.behaving(leading(EVERYTHING, more)):
        assert "degraded" not in report(asked(search, size=50))
        answer = asked(search, size=60)
    assert len(answer["hits"]["hits"]) == 60
    assert report(answer)["degraded"] == [without]


@pytest.mark.parametrize(
    "written",
    [
        {"kitpick": 1},
        {"query": {"of_a_later_version": {}}},
        {"query": {"kitpick": {"text": "a file"}}},
        {"size": -3},
        {"ext": {"kitpick": {"k": "x"}}},
    ],
    ids=["unknown key", "unknown query", "the same query again", "negative size", "wrong ext"],
)
def test_a_search_that_nobody_reads_is_an_invalid_answer(
    search: Search, double: Double, written: dict[str, Any]
) -> None:
    """And no defect of the plugin, as its log would say."""
    with double.behaving(leading(written)):
        answer = asked(search)
        assert len(double.calls) == 1
    assert (report(answer)["status"], report(answer)["reason"]) == ("degraded", "invalid_answer")


def test_who_forbids_partial_results_gets_no_ranking_of_a_part(search: Search, double: Double) -> None:
    source = "if (doc['number'].value == 7) { throw new IllegalArgumentException() } return true"
    broken = {**EVERYTHING, "query": {"script": {"script": source}}}
    with double.behaving(leading(broken)):
        part = asked(search)
        with pytest.raises(Refused):
            asked(search, "allow_partial_search_results=false")
    assert part["_shards"]["failed"] == 0, "of the search for the ranked documents"
    assert report(part)["degraded"] == [{"stage": "first_stage", "reason": "not all shards answered in time"}]
