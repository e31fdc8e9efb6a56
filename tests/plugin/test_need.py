"""Documents that the service asks for: fetched as the user, and never more than the user's search could find.

The node of these tests has no users. What stands for them here are the restrictions that a search can carry:
filters in the query, post filters, filtered aliases. With the security plugin the same searches run in the
user's own security context as well.
"""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest
from double import Call, Double, answering, backwards, reset, silent
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from searching import PIPELINE, QUERY, Refused, Search, documents, ids, report

pytestmark = pytest.mark.needs("jdk")

SECRET = "zebra"
"""A word that only forbidden documents hold."""

NEEDING = {"vector_field": "vector", "query_path": "query.bool.must.0.match.text.query"}


@pytest.fixture(scope="module", autouse=True)
def catalog(search: Search) -> None:
    """Three tools with APIs that the text query finds (`d…`), and others that it does not (`x…`)."""
    items = documents(6)
    for n in range(12):
        items[f"x{n:02d}"] = {
            "text": f"something else, number {n}" + (f" {SECRET}" if n % 2 == 0 else ""),
            "category": "Weather",
            "tool": f"tool{n % 3}",
            "api": f"other{n}",
            "tool_key": f"Weather/tool{n % 3}",
            "tenant": "acme" if n % 2 else "globex",
            "allowed": ["alice"] if n % 4 == 1 else ["bob"],
            "number": n,
            "needs": ["city=city.id~9"],
            "gives": "forecast.id~7",
            "vector": [1.0, n / 12, 0.0, 0.0],
        }
    for n in range(6):
        items[f"d{n:02d}"].update(tenant="acme", allowed=["alice", "bob"], vector=[1.0, -n / 6, 0.0, 0.0])
    search.index("catalog", items, shards=2)
    search.put("/_search/pipeline/needing", {**PIPELINE, "response_processors": [{"kitpick": NEEDING}]})
    alias = {"index": "catalog", "alias": "of-acme", "filter": {"term": {"tenant": "acme"}}}
    search.call("POST", "/_aliases", {"actions": [{"add": alias}]})


def needing(*tools: str, neighbours: int = 0) -> Any:
    """A service that asks until it has been given something, and ranks what was fetched first."""
    need: dict[str, Any] = {"apis_of_tools": list(tools)}
    if neighbours:
        vector = base64.b64encode(struct.pack("<4f", 1.0, 1.0, 0.0, 0.0)).decode()
        need["neighbours"] = {"vector": vector, "k": neighbours}

    def make(call: Call) -> dict[str, Any]:
        answer = backwards(call)
        return answer if call.get("fetched") else {**answer, "need": need}

    return answering(make)


def bool_query(**more: Any) -> dict[str, Any]:
    return {"bool": {"must": [{"match": {"text": QUERY}}], **more}}


def search_with(search: Search, query: dict[str, Any], index: str = "catalog", **more: Any) -> Any:
    return search({"query": query, "size": 30, **more}, index, "needing")


class TestAnswers:
    def test_all_apis_of_a_tool(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/tool1")):
            answer = search_with(search, bool_query())
            first, second = double.calls
        fetched = {"x01", "x04", "x07", "x10"}
        assert {each["id"] for each in second["fetched"]} == fetched
        assert all(each["needs"] == ["city=city.id~9"] for each in second["fetched"])
        assert all(each["gives"] == ["forecast.id~7"] for each in second["fetched"])
        assert second["candidates"] == first["candidates"]
        assert second["complete_tools"] == ["Weather/tool1"]
        assert set(ids(answer)[:4]) == fetched
        assert report(answer)["rounds"] == 1
        assert report(answer)["service_ms"] == 2 * 1.5, "of both calls"
        assert report(answer)["fetched"] == 4
        assert next(hit for hit in report(answer)["hits"] if hit.get("fetched"))["id"] in fetched

    def test_neighbours_of_a_vector(self, search: Search, double: Double) -> None:
        with double.behaving(needing(neighbours=3)):
            answer = search_with(search, bool_query())
        assert set(ids(answer)[:3]) == {"x11", "x10", "x09"}
        assert report(answer)["rounds"] == 1

    def test_fetched_hits_look_like_the_others(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/tool1")):
            answer = search_with(search, bool_query(), _source=["number"], fields=["api"], version=True)
        for hit in answer["hits"]["hits"]:
            assert set(hit) == {"_index", "_id", "_version", "_score", "_source", "fields"}
            assert set(hit["_source"]) == {"number"}
            assert set(hit["fields"]) == {"api"}

    def test_an_index_with_a_default_pipeline_is_asked_without_it(
        self, search: Search, double: Double
    ) -> None:
        search.put("/catalog/_settings", {"index.search.default_pipeline": "needing"})
        try:
            with double.behaving(needing("Weather/tool1")):
                body = {"query": bool_query(), "size": 30}
                answer = search.call("POST", "/catalog/_search", body)
                assert len(double.calls) == 2
        finally:
            search.put("/catalog/_settings", {"index.search.default_pipeline": None})
        assert report(answer)["fetched"] == 4


class TestLimits:
    def test_rounds_end(self, search: Search, double: Double) -> None:
        wanted = iter(["Weather/tool0", "Weather/tool1", "Weather/tool2"])

        def insatiable(call: Call) -> dict[str, Any]:
            return {**backwards(call), "need": {"apis_of_tools": [next(wanted)]}}

        with double.behaving(answering(insatiable)):
            answer = search_with(search, bool_query())
            assert len(double.calls) == 3
        assert report(answer)["rounds"] == 2
        assert report(answer)["degraded"] == [{"stage": "fetch", "reason": "2 rounds are over"}]

    def test_no_more_is_fetched_than_the_pipeline_allows(self, search: Search, double: Double) -> None:
        """In all rounds together; of a tool that is read in part it does not say that all is there."""
        processor = {**NEEDING, "max_fetched": 7}
        search.put("/_search/pipeline/few", {**PIPELINE, "response_processors": [{"kitpick": processor}]})
        wanted = iter(["Weather/tool0", "Weather/tool1", "Weather/tool2"])
        vector = base64.b64encode(struct.pack("<4f", 1.0, 1.0, 0.0, 0.0)).decode()

        def insatiable(call: Call) -> dict[str, Any]:
            more = {"apis_of_tools": [next(wanted)], "neighbours": {"vector": vector, "k": 1}}
            return {**backwards(call), "need": more}

        with double.behaving(answering(insatiable)):
            answer = search({"query": bool_query(), "size": 30}, "catalog", "few")
            fetched = [len(call.get("fetched", ())) for call in double.calls]
            claimed = [call.get("complete_tools") for call in double.calls]
        assert fetched == [0, 5, 7]
        assert claimed == [None, ["Weather/tool0"], ["Weather/tool0"]]
        assert report(answer)["degraded"] == [{"stage": "fetch", "reason": "2 rounds are over"}]

    def test_nothing_new_ends_them_too(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/no-such-tool")):
            answer = search_with(search, bool_query())
            assert len(double.calls) == 1
        assert report(answer)["rounds"] == 0

    def test_a_search_that_the_cluster_refuses_is_named(self, search: Search, double: Double) -> None:
        """More tools than a `terms` query may have values: no defect of the plugin."""
        with double.behaving(needing(*(f"Weather/{n}" for n in range(65_537)))):
            answer = search_with(search, bool_query())
        assert report(answer)["status"] == "rescored"
        assert report(answer)["degraded"][0]["reason"].endswith("could not be used: first_stage")

    def test_where_another_cluster_is_away_no_tool_is_claimed_whole(
        self, search: Search, double: Double
    ) -> None:
        away = {"seeds": ["127.0.0.1:1"], "skip_unavailable": True}
        search.put("/_cluster/settings", {"transient": {"cluster.remote.away": away}})
        try:
            with double.behaving(needing("Weather/tool1")):
                answer = search_with(search, bool_query(), "catalog,away:catalog")
                _, second = double.calls
        finally:
            search.put("/_cluster/settings", {"transient": {"cluster.remote.away.*": None}})
        assert answer["_clusters"]["skipped"] == 1
        assert len(second["fetched"]) == 4
        assert "complete_tools" not in second

    def test_a_filter_that_holds_the_text_itself_stays_one(self, search: Search, double: Double) -> None:
        """A user of the tenant `acme` searches for it, under a filter that is written as a `match`."""
        item = {"category": "Weather", "tool": "tool1", "api": "a", "tool_key": "Weather/tool1"}
        ours = {**item, "text": "the weather at acme", "tenant": "acme"}
        theirs = {**item, "text": f"something else {SECRET}", "tenant": "globex"}
        search.index("named", {"ours": ours, "theirs": theirs})
        query = {"bool": {"must": [{"match": {"text": "acme"}}, {"match": {"tenant": "acme"}}]}}
        with double.behaving(needing("Weather/tool1")):
            answer = search_with(search, query, "named")
            assert SECRET not in str(double.calls)
        assert report(answer)["status"] == "rescored"
        assert ids(answer) == ["ours"]

    def test_rounds_can_be_switched_off(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/tool1")):
            search_with(search, bool_query(), ext={"kitpick": {"rounds": 0}})
            assert len(double.calls) == 1

    @pytest.mark.parametrize("misdeed", [silent, reset])
    def test_a_failure_in_the_second_round_leaves_the_first_ones_order(
        self, search: Search, double: Double, misdeed: Any
    ) -> None:
        async def behave(call: Call, writer: Any) -> None:
            await (misdeed if call.get("fetched") else needing("Weather/tool1"))(call, writer)

        with double.behaving(behave):
            answer = search_with(search, bool_query(), ext={"kitpick": {"deadline_ms": 6_000}})
        assert report(answer)["status"] == "rescored"
        assert [each["stage"] for each in report(answer)["degraded"]] == ["fetch"]
        assert ids(answer) == ["d05", "d04", "d03", "d02", "d01", "d00"]

    def test_a_guessed_query_text_fetches_nothing(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/tool1")):
            answer = search_with(search, {"match": {"text": QUERY}})
            assert len(double.calls) == 1
        assert "guessed" in report(answer)["degraded"][0]["reason"]

    def test_a_collapsed_search_fetches_nothing(self, search: Search, double: Double) -> None:
        with double.behaving(needing("Weather/tool1")):
            answer = search_with(search, bool_query(), collapse={"field": "tool"})
            assert len(double.calls) == 1
        assert len(ids(answer)) == 3


ACME = {"term": {"tenant": "acme"}}
RESTRICTED = {
    "filter": ({"query": bool_query(filter=[ACME])}, "catalog"),
    "filter, not a list": ({"query": bool_query(filter=ACME)}, "catalog"),
    "must not": ({"query": bool_query(must_not=[{"term": {"tenant": "globex"}}])}, "catalog"),
    "a second must": (
        {"query": {"bool": {"must": [{"match": {"text": QUERY}}, ACME]}}},
        "catalog",
    ),
    "a match as a filter": (
        {"query": {"bool": {"must": [{"match": {"text": QUERY}}, {"match": {"tenant": "acme"}}]}}},
        "catalog",
    ),
    "post filter": ({"query": bool_query(), "post_filter": ACME}, "catalog"),
    "alias": ({"query": bool_query()}, "of-acme"),
    "a query inside": (
        {"query": {"function_score": {"query": bool_query(filter=[ACME])}}},
        "catalog",
    ),
    "nested bool": ({"query": {"bool": {"must": [bool_query(filter=[ACME])]}}}, "catalog"),
    "dis_max": ({"query": {"dis_max": {"queries": [bool_query(filter=[ACME])]}}}, "catalog"),
    "unknown to the plugin": (
        {
            "query": {
                "boosting": {
                    "positive": bool_query(filter=[ACME]),
                    "negative": {"match_none": {}},
                    "negative_boost": 0.5,
                }
            }
        },
        "catalog",
    ),
    "knn": (
        {"query": {"knn": {"vector": {"vector": [1, 0, 0, 0], "k": 9, "filter": ACME}}}},
        "catalog",
    ),
    "a least score": (
        {
            "query": {
                "function_score": {
                    "query": bool_query(),
                    "functions": [{"filter": {"term": {"tenant": "globex"}}, "weight": 0.0}],
                    "boost_mode": "replace",
                }
            },
            "min_score": 0.5,
        },
        "catalog",
    ),
    "constant score": ({"query": bool_query(filter=[{"constant_score": {"filter": ACME}}])}, "catalog"),
}  # fmt: skip


@pytest.mark.parametrize("restricted", RESTRICTED)
@pytest.mark.parametrize("service", [needing("Weather/tool0", "Weather/tool1"), needing(neighbours=12)])
def test_what_is_fetched_obeys_the_restriction(
    search: Search, double: Double, restricted: str, service: Any
) -> None:
    body, index = RESTRICTED[restricted]
    with double.behaving(service):
        answer = search({**body, "size": 40, "ext": {"kitpick": {"query": QUERY}}}, index, "needing")
        sent = double.calls
    assert report(answer)["status"] == "rescored"
    assert SECRET not in str(sent)
    assert SECRET not in str(answer)
    assert {hit["_source"]["tenant"] for hit in answer["hits"]["hits"]} == {"acme"}


FETCHING = [
    "filter",
    "filter, not a list",
    "must not",
    "a second must",
    "post filter",
    "alias",
    "a query inside",
]


@pytest.mark.parametrize("restricted", FETCHING)
def test_the_restriction_does_not_keep_out_what_is_allowed(
    search: Search, double: Double, restricted: str
) -> None:
    body, index = RESTRICTED[restricted]
    with double.behaving(needing("Weather/tool1")):
        answer = search({**body, "size": 40, "ext": {"kitpick": {"query": QUERY}}}, index, "needing")
    assert {"x01", "x07"} <= set(ids(answer))


LEAF = st.sampled_from(
    [
        {"term": {"tenant": "acme"}},
        {"term": {"allowed": "alice"}},
        {"terms": {"allowed": ["alice", "bob"]}},
        {"range": {"number": {"lte": 5}}},
        {"match": {"text": QUERY}},
        {"match": {"text": "something"}},
        {"match": {"tenant": "acme"}},
        {"multi_match": {"query": QUERY, "fields": ["text"]}},
        {"exists": {"field": "vector"}},
        {"match_all": {}},
        {"query_string": {"query": "tenant:acme"}},
        {"knn": {"vector": {"vector": [1, 0.5, 0, 0], "k": 18, "filter": {"term": {"tenant": "acme"}}}}},
        {"knn": {"vector": {"vector": [1, 0.5, 0, 0], "k": 18}}},
    ]
)
QUERIES = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.fixed_dictionaries(
            {},
            optional={
                "must": st.lists(inner, max_size=2),
                "filter": st.lists(inner, max_size=2),
                "must_not": st.lists(inner, max_size=1),
                "should": st.lists(inner, max_size=3),
                "minimum_should_match": st.sampled_from([0, 1, 2]),
            },
        ).map(lambda body: {"bool": body}),
        st.lists(inner, min_size=1, max_size=2).map(lambda each: {"dis_max": {"queries": each}}),
        inner.map(lambda each: {"constant_score": {"filter": each}}),
        inner.map(lambda each: {"function_score": {"query": each}}),
    ),
    max_leaves=6,
)


SCORING = ({"match": {"text": QUERY}}, {"multi_match": {"query": QUERY, "fields": ["text"]}})


def relaxed(query: Any) -> Any:
    """The query with its scoring leaves replaced by 'everything': an independent reading of the same rule."""
    if isinstance(query, list):
        return [relaxed(each) for each in query]
    ((name, body),) = query.items()
    if name == "bool":
        scored = {key: relaxed(body[key]) for key in ("must", "should") if key in body}
        return {"bool": {**body, **scored}}
    if name in ("dis_max", "function_score"):
        return {name: {key: relaxed(inner) for key, inner in body.items()}}
    if name == "knn":
        return body["vector"].get("filter", {"match_all": {}})
    return {"match_all": {}} if query in SCORING else query


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=QUERIES, by_vector=st.booleans())
@example(
    query={"bool": {"should": [{"term": {"tenant": "acme"}}], "minimum_should_match": 0}}, by_vector=True
)
@example(
    query={"bool": {"should": [{"term": {"tenant": "acme"}}], "minimum_should_match": 0}}, by_vector=False
)
def test_no_query_lets_the_service_see_what_it_could_not_find(
    search: Search, double: Double, query: dict[str, Any], by_vector: bool
) -> None:
    """Each fetched document satisfies the query once its scoring leaves let everything through."""
    service = needing(neighbours=18) if by_vector else needing(*(f"Weather/tool{n}" for n in range(3)))
    with double.behaving(service):
        try:
            search({"query": query, "size": 40, "ext": {"kitpick": {"query": QUERY}}}, "catalog", "needing")
        except Refused as refused:  # some combinations are no query to OpenSearch either
            assert refused.status == 400  # noqa: PT017
            return
        fetched = {each["id"] for call in double.calls for each in call.get("fetched", ())}
    allowed = search.call("POST", "/catalog/_search", {"size": 100, "query": relaxed(query)})
    assert fetched <= set(ids(allowed))
