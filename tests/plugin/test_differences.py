"""The plugin changes the order of hits and their scores, and nothing else, compared with a search without it.

KITPICK_DIFFERENCES says how many bodies are generated and compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from double import Call, Double, answering, backwards, ranked
from searching import MAPPINGS, PIPELINE, QUERY, Refused, Search, documents, ids, numbered, report
from sizes import sized

pytestmark = pytest.mark.needs("jdk")

BODIES = int(sized("KITPICK_DIFFERENCES", 100, 5_000))
PARTS_OF_ALL = 10
WINDOW = 20
TOTAL = 30

Body = dict[str, Any]
EXTRA = {
    "stored": {"type": "keyword", "store": True},
    "other": {"type": "alias", "path": "tool"},
    "parts": {"type": "nested", "properties": {"name": {"type": "keyword"}, "n": {"type": "integer"}}},
    "empty": {"type": "object", "enabled": False},
}


@pytest.fixture(scope="module", autouse=True)
def catalog(search: Search) -> None:
    """As many documents as are found, and four (`x…`) that only the rescorer asks for."""
    items = documents(TOTAL)
    for n, item in enumerate(items.values()):
        item.update(stored=f"s{n % 5}", parts=[{"name": f"p{n % 4}", "n": n}, {"name": "p"}], empty={})
        item["vector"] = [1.0, n / TOTAL, 0.0, 0.0]
    items["d25"]["tool_key"] = "Weather/extra"
    for n in range(4):
        extra = {"text": "else", "tool_key": "Weather/extra", "tool": "extra", "api": f"x{n}", "number": 100}
        items[f"x{n:02d}"] = extra
    settings = {"index": {"number_of_shards": 3, "number_of_replicas": 0, "knn": True}}
    mappings = {"properties": {**MAPPINGS["properties"], **EXTRA}}
    search.fill("differences", items, {"settings": settings, "mappings": mappings})
    # One segment a shard: an early end stops at the same document each time.
    search.call("POST", "/differences/_forcemerge?max_num_segments=1")
    search.call("POST", "/differences/_refresh")


# Bodies

TEXT = {"match": {"text": QUERY}}
ACME = {"term": {"tenant": "acme"}}
QUERIES: list[Body] = [
    TEXT,
    {"match": {"text": {"query": QUERY, "_name": "words"}}},
    {"multi_match": {"query": QUERY, "fields": ["text", "api"]}},
    {"bool": {"must": [TEXT], "filter": [ACME]}},
    {"bool": {"should": [TEXT, {"term": {"tool": {"value": "tool1", "_name": "first"}}}]}},
    {"dis_max": {"queries": [TEXT, ACME]}},
    {"constant_score": {"filter": {"range": {"number": {"lt": 28}}}}},
    {"function_score": {"query": TEXT, "field_value_factor": {"field": "number", "missing": 1}}},
    {"script_score": {"query": TEXT, "script": {"source": "doc['number'].value + 1"}}},
    {"nested": {"path": "parts", "query": {"term": {"parts.name": "p1"}}, "inner_hits": {}}},
    {"knn": {"vector": {"vector": [1, 0.3, 0, 0], "k": 8}}},
    {"query_string": {"query": "weather AND forecast", "default_field": "text"}},
    {"ids": {"values": ["d03", "d01", "x00"]}},
    {"match_all": {}},
    {"match_none": {}},
]
PARTS: dict[str, list[Any]] = {
    "_source": [
        True, False, "number", ["t*"], ["nothing"], {"excludes": ["te*"]}, ["parts.name", "empty"],
        {"includes": ["t*", "parts"], "excludes": ["text", "parts.n"]},
    ],
    "fields": [["*"], ["te*"], ["tool", "text"], ["other", "number"], [{"field": "number"}], ["parts.*"]],
    "docvalue_fields": [["tool"], ["number", "api"], [{"field": "number", "format": "#.0"}], ["tool_key"]],
    "stored_fields": [["stored"], ["_source"], ["stored", "_source"], [], ["text", "tool"], "_none_"],
    "script_fields": [
        {"more": {"script": "doc['number'].value + 1"}},
        {"text": {"script": "doc['api'].value"}},
        {"tool": {"script": "params._source.number", "ignore_failure": True}},
    ],
    "derived": [{"twice": {"type": "long", "script": "emit(doc['number'].value * 2)"}}],
    "sort": [
        "_score", ["_score"], [{"_score": "asc"}], ["_score", {"number": "asc"}], [{"number": "desc"}],
        ["_doc"], [{"tool": "asc"}, "_score"],
    ],
    "search_after": [[3.5], [0.1, 7], ["tool1", 0.2]],
    "highlight": [
        {"fields": {"text": {}}},
        {"fields": {"te*": {"type": "plain"}}, "highlight_query": {"match": {"text": "things"}}},
    ],
    "suggest": [{"s": {"text": "wether", "term": {"field": "text"}}}],
    "aggs": [
        {"tools": {"terms": {"field": "tool"}, "aggs": {"best": {"top_hits": {"size": 2}}}}},
        {"n": {"stats": {"field": "number"}}},
        {"few": {"sampler": {"shard_size": 3}, "aggs": {"n": {"avg": {"field": "number"}}}}},
    ],
    "explain": [True],
    "version": [True],
    "seq_no_primary_term": [True],
    "min_score": [0.01, 0.3],
    "post_filter": [ACME],
    "rescore": [{"window_size": 9, "query": {"rescore_query": ACME}}],
    "collapse": [
        {"field": "tool"},
        {"field": "tool", "inner_hits": {"name": "best", "size": 2, "_source": ["api"]}},
        {"field": "stored"},
    ],
    "track_total_hits": [True, False, 7],
    "track_scores": [True],
    "profile": [True],
    "terminate_after": [4],
    "timeout": ["60s"],
    "indices_boost": [[{"differences": 2.0}]],
    "from": [1, 5, 19, 20, 23, 40],
    "size": [0, 1, 3, 12, 25, 60],
}  # fmt: skip
EXTS: list[Body] = [{}, {}, {"window": 7}, {"k": 2}, {"rounds": 0}, {"explain": False}]


def generated(number: int) -> Body:
    """A search body: the same for the same number."""
    rng = Random(number)
    body: Body = {"query": rng.choice(QUERIES), "ext": {"kitpick": {"query": QUERY, **rng.choice(EXTS)}}}
    for name in rng.sample(sorted(PARTS), rng.randint(1, 6)):
        body[name] = rng.choice(PARTS[name])
    return body


# Comparing


def scattered(call: Call) -> Body:
    """Two thirds of the candidates, in an order that only depends on how many there are."""
    return ranked(chosen([each["id"] for each in call["candidates"]]))


def chosen(names: list[str]) -> list[str]:
    return Random(len(names)).sample(names, (2 * len(names) + 2) // 3)


def asked(search: Search, body: Body, pipeline: str) -> Any:
    """The answer, or the status of a refusal."""
    try:
        return search.call("POST", f"/differences/_search?search_pipeline={pipeline}", body)
    except Refused as refused:
        return refused.status


def difference(search: Search, body: Body) -> str | None:
    """What the plugin changed beyond order and score; None where nothing."""
    bare = {name: value for name, value in body.items() if name != "ext"}
    plain, ours = asked(search, bare, "_none"), asked(search, body, "kitpick")
    if isinstance(plain, int) or isinstance(ours, int):
        return None if plain == ours else f"answers {plain!r:.300} and {ours!r:.300}"
    said = report(ours)
    if said["status"] == "original":
        return f"not rescored: {said}"
    options = body["ext"]["kitpick"]
    start, limit = body.get("from", 0), min(body.get("size", 10), options.get("k", 1000))
    if said["status"] == "skipped":
        expected = plain["hits"]["hits"][:limit]
        return differs("skipped hits", ours["hits"]["hits"], expected) or rest_differs(ours, plain, True)
    window = options.get("window", WINDOW)
    wide = asked(search, {**bare, "from": 0, "size": max(window, start + limit)}, "_none")
    found = {hit.get("_id"): hit for hit in wide["hits"]["hits"]}
    if None in found:
        return differs("number of hits", len(ours["hits"]["hits"]), len(plain["hits"]["hits"][:limit]))
    names = list(found)
    order = chosen(names[:window])
    order += [name for name in names if name not in order]
    page = order[start : start + limit]
    return (
        differs("order", ids(ours), page)
        or next(filter(None, (hit_differs(hit, found[hit["_id"]]) for hit in ours["hits"]["hits"])), None)
        or rest_differs(ours, plain, False)
    )


def hit_differs(ours: Body, plain: Body) -> str | None:
    if "_explanation" in plain:
        why = ours["_explanation"]
        wrong = differs("explained score", why["value"], ours["_score"])
        wrong = wrong or differs("explanation beneath", why["details"], [plain["_explanation"]])
        if wrong:
            return wrong
    changed = ("_score", "_explanation")
    kept = [{name: value for name, value in hit.items() if name not in changed} for hit in (ours, plain)]
    return differs(f"hit {plain['_id']}", *kept)


def rest_differs(ours: Body, plain: Body, unchanged: bool) -> str | None:
    """What is no hit. Times differ from search to search."""
    rest = [
        {name: value for name, value in answer.items() if name not in ("took", "ext", "hits", "profile")}
        for answer in (ours, plain)
    ]
    around = [
        {name: value for name, value in answer["hits"].items() if name == "total" or unchanged}
        for answer in (ours, plain)
    ]
    for each in around:
        each.pop("hits", None)
    # Not by which shards: those that surely find nothing are passed over, or not, as it happens.
    profiled = ["shards" in answer.get("profile", {}) for answer in (ours, plain)]
    return differs("rest", *rest) or differs("around hits", *around) or differs("profile", *profiled)


def differs(what: str, ours: object, plain: object) -> str | None:
    if ours == plain:
        return None
    return f"{what}: {json.dumps(ours)[:1500]} instead of {json.dumps(plain)[:1500]}"


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(PARTS_OF_ALL))
def test_only_order_and_score_differ(search: Search, double: Double, part: int) -> None:
    rescored = before = 0
    found: list[str] = []
    numbers = range(part, BODIES, PARTS_OF_ALL)
    with double.behaving(answering(scattered)):
        for number in numbers:
            body = generated(number)
            wrong = difference(search, body)
            rescored += len(double.calls) > before
            before = len(double.calls)
            if wrong:
                found.append(f"body {number}: {json.dumps(body)}\n  {wrong}")
    assert not found, f"{len(found)} of {len(numbers)} differ:\n" + "\n".join(found[:5])
    assert rescored >= len(numbers) // 5, "else little was compared"


@pytest.mark.parametrize("number", [266, 700, 962, 3122])
def test_bodies_that_once_differed(search: Search, double: Double, number: int) -> None:
    """`fields: ["*"]` lost vectors where a script, a stored field or the user switched the source off."""
    with double.behaving(answering(scattered)):
        assert difference(search, generated(number)) is None


# What lies behind a page


def walked(search: Search, body: Body, size: int) -> list[Body]:
    """All answers page by page, until one is empty."""
    pages: list[Body] = []
    while not pages or ids(pages[-1]):
        assert len(pages) < 2 * TOTAL
        start = size * len(pages)
        pages.append(search({**body, "from": start, "size": size}, "differences"))
    return pages


def needing(*tools: str) -> Callable[[Call], Body]:
    def answer(call: Call) -> Body:
        need = {} if call.get("fetched") else {"need": {"apis_of_tools": list(tools)}}
        return {**backwards(call), **need}

    return answer


@pytest.mark.parametrize("size", [3, 8, 20, 33])
def test_pages_after_fetching_hold_every_hit_once(search: Search, double: Double, size: int) -> None:
    """Four documents more come first, and one (`d25`) from behind the window: all others move down."""
    with double.behaving(answering(needing("Weather/extra"))):
        pages = walked(search, {}, size)
    seen = [each for page in pages for each in ids(page)]
    fetched = {"d25", "x00", "x01", "x02", "x03"}
    assert set(seen[:5]) == fetched
    assert seen[5:] == numbered([*range(19, -1, -1), *range(20, 25), *range(26, 30)])
    totals = [page["hits"]["total"] for page in pages]
    assert totals[-1] == {"value": 34, "relation": "eq"}
    assert all(each in ({"value": 30, "relation": "gte"}, totals[-1]) for each in totals)


def test_without_a_window_nothing_is_fetched_that_would_push_hits_off_the_page(
    search: Search, double: Double
) -> None:
    search.put("/_search/pipeline/bare", {"response_processors": PIPELINE["response_processors"]})
    with double.behaving(answering(needing("Weather/extra"))):
        answer = search({"size": 5}, "differences", "bare")
    assert set(ids(answer)) == set(numbered(range(5)))
    (degraded,) = report(answer)["degraded"]
    assert "kitpick_window" in degraded["reason"]


def test_fetched_hits_carry_what_was_asked_of_hits(search: Search, double: Double) -> None:
    body: Body = {
        "size": 40, "explain": True, "_source": ["number"], "fields": ["te*"], "docvalue_fields": ["tool"],
        "highlight": {"fields": {"text": {}}, "highlight_query": {"match": {"text": "else"}}},
    }  # fmt: skip
    with double.behaving(answering(needing("Weather/extra"))):
        hits = search(body, "differences")["hits"]["hits"]
    fetched = next(hit for hit in hits if hit["_id"] == "x01")
    assert fetched["_source"] == {"number": 100}
    assert fetched["fields"] == {"text": ["else"], "tool": ["extra"]}
    assert fetched["highlight"] == {"text": ["<em>else</em>"]}
    assert fetched["_explanation"]["value"] == fetched["_score"]


@pytest.mark.parametrize("tie", ["number", "_shard_doc"])
def test_a_point_in_time_is_walked_through_with_search_after(
    search: Search, double: Double, tie: str
) -> None:
    """The order from which a client goes on is the first stage's, on each page."""
    pit = search.call("POST", "/differences/_search/point_in_time?keep_alive=1m")["pit_id"]
    body: Body = {"size": 4, "pit": {"id": pit}, "query": TEXT, "sort": [{"_score": "desc"}, {tie: "asc"}]}
    seen: list[str] = []
    reasons: set[str] = set()
    path = "/_search?search_pipeline=kitpick"
    with double.behaving(answering(backwards)):
        while hits := (answer := search.call("POST", path, body))["hits"]["hits"]:
            seen += ids(answer)
            reasons.add(report(answer)["reason"])
            body["search_after"] = hits[-1]["sort"]
        assert not double.calls
    search.call("DELETE", "/_search/point_in_time", {"pit_id": [pit]})
    assert sorted(seen) == numbered(range(TOTAL))
    assert reasons == {"sort_values", "search_after"}
