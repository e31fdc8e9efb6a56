"""What a search through the processors answers, on a real node."""

from __future__ import annotations

from typing import Any

import pytest
from double import Double, answering, backwards, ranked
from searching import KEY, PIPELINE, QUERY, TOTAL, Refused, Search, documents, ids, numbered, report

pytestmark = pytest.mark.needs("jdk")


@pytest.fixture(autouse=True)
def well_behaved(double: Double) -> Any:
    with double.behaving(answering(backwards)):
        yield


SHAPES: dict[str, dict[str, Any]] = {
    "total hits up to a bound": {"track_total_hits": 7},
    "without total hits": {"track_total_hits": False},
    "aggregations": {
        "aggs": {"tools": {"terms": {"field": "tool"}, "aggs": {"n": {"avg": {"field": "number"}}}}}
    },
    "a post filter": {"post_filter": {"term": {"tenant": "acme"}}},
    "suggestions": {"suggest": {"s": {"text": "wether", "term": {"field": "text"}}}},
    "collapsed hits with those inside": {
        "collapse": {"field": "tool", "inner_hits": {"name": "best", "size": 2}}
    },
    "highlights": {"highlight": {"fields": {"text": {"number_of_fragments": 1}}}},
    "named queries": {"query": {"match": {"text": {"query": QUERY, "_name": "words"}}}},
    "a least score": {"min_score": 0.01},
    "another first stage's rescorer": {
        "rescore": {"window_size": 9, "query": {"rescore_query": {"term": {"tenant": "acme"}}}}
    },
    "an explanation": {"explain": True},
    "versions": {"version": True, "seq_no_primary_term": True},
    "fields out of doc values": {"docvalue_fields": ["number"], "_source": False},
    "a script field": {"script_fields": {"more": {"script": "doc['number'].value + 1"}}},
    "some of the source": {"_source": {"includes": ["t*"], "excludes": ["text"]}},
    "an early end": {"terminate_after": 4},
    "an index's boost": {"indices_boost": [{"apis": 2.0}]},
    "a function": {
        "query": {
            "function_score": {"query": {"match": {"text": QUERY}}, "field_value_factor": {"field": "number"}}
        }
    },
}
"""What else a search may ask for."""


_SCORED = ("_score", "_explanation")


def unordered(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer without what the plugin is there to change: hits by id, without scores and their reasons."""
    hits = {hit["_id"]: {k: v for k, v in hit.items() if k not in _SCORED} for hit in answer["hits"]["hits"]}
    rest = {name: value for name, value in answer.items() if name not in ("took", "ext", "hits")}
    return {**rest, "total": answer["hits"].get("total"), "hits": hits}


class TestOrder:
    def test_hits_come_in_the_order_of_the_service(self, search: Search) -> None:
        answer = search({"size": 5})
        assert ids(answer) == numbered([19, 18, 17, 16, 15])
        assert report(answer)["status"] == "rescored"

    def test_the_service_is_sent_the_whole_window_with_the_key(self, search: Search, double: Double) -> None:
        search({"size": 5})
        (call,) = double.calls
        assert call["query"] == QUERY
        assert [each["id"] for each in call["candidates"]] == numbered(range(20))
        assert [each["first"]["rank"] for each in call["candidates"]] == list(range(1, 21))
        assert call["candidates"][4]["tool"] == "tool1"
        assert double.headers[0]["authorization"] == f"Bearer {KEY}"
        assert double.paths == ["/v1/rescore"]

    def test_scores_are_the_services_and_never_rise(self, search: Search, double: Double) -> None:
        def with_a_low_one_in_between(call: dict[str, Any]) -> dict[str, Any]:
            answer = backwards(call)
            answer["results"][1]["score"] = 3.5
            return answer

        with double.behaving(answering(with_a_low_one_in_between)):
            answer = search({"size": 3})
        assert [hit["_score"] for hit in answer["hits"]["hits"]] == [999.0, 3.5, 3.5]
        assert answer["hits"]["max_score"] == 999.0
        assert [hit["score"] for hit in report(answer)["hits"]] == [999.0, 3.5, 997.0]

    def test_hits_that_the_service_leaves_out_follow_as_they_were(
        self, search: Search, double: Double
    ) -> None:
        with double.behaving(answering(lambda call: ranked(["d07", "d03"]))):
            answer = search({"size": 5})
        assert ids(answer) == numbered([7, 3, 0, 1, 2])

    def test_the_report_says_why_each_hit_stands_where_it_does(self, search: Search) -> None:
        answer = search({"size": 2})
        first, second = report(answer)["hits"]
        assert (first["id"], first["rank"], first["first_rank"]) == ("d19", 1, 20)
        assert first["reasons"] == ["double: 1"]
        assert second["first_score"] > 0
        assert report(answer)["profile"] == "double"
        assert report(answer)["service_ms"] == 1.5
        assert report(answer)["took_ms"] > 0

    def test_took_is_the_whole_time(self, search: Search) -> None:
        answer = search()
        assert answer["took"] >= round(report(answer)["took_ms"]) > 0

    def test_a_field_that_no_hit_holds_is_told(self, search: Search) -> None:
        fields = {"text_fields": ["text", "detials.long"], "query_path": "query.match.text.query"}
        search.put("/_search/pipeline/misspelt", {**PIPELINE, "response_processors": [{"kitpick": fields}]})
        answer = search(pipeline="misspelt")
        reason = "no hit holds text_fields[1], counted from 0"
        assert report(answer)["degraded"] == [{"stage": "text", "reason": reason}]
        assert report(answer)["status"] == "rescored"

    def test_the_report_can_be_short(self, search: Search) -> None:
        assert "hits" not in report(search({"ext": {"kitpick": {"explain": False}}}))


class TestPages:
    def test_pages_fit_together(self, search: Search) -> None:
        starts = range(0, TOTAL, 4)
        pages = [each for start in starts for each in ids(search({"from": start, "size": 4}))]
        assert pages == numbered([*range(19, -1, -1), *range(20, 30)])

    def test_a_page_across_the_end_of_the_window_goes_on_in_first_stage_order(self, search: Search) -> None:
        answer = search({"from": 18, "size": 4})
        assert ids(answer) == numbered([1, 0, 20, 21])
        assert [hit["rank"] for hit in report(answer)["hits"]] == [19, 20, 21, 22]

    def test_a_page_behind_the_window_is_left_alone(self, search: Search, double: Double) -> None:
        answer = search({"from": 20, "size": 4, "ext": {"kitpick": {"rounds": 0}}})
        assert ids(answer) == numbered(range(20, 24))
        assert report(answer) == {"status": "skipped", "reason": "beyond_window"}
        assert not double.calls

    def test_behind_the_window_it_is_rescored_where_documents_may_be_fetched(
        self, search: Search, double: Double
    ) -> None:
        """Only so it is known by how many places the hits there moved."""
        answer = search({"from": 20, "size": 4})
        assert ids(answer) == numbered(range(20, 24))
        assert len(double.calls[0]["candidates"]) == 20
        assert report(answer)["status"] == "rescored"

    def test_the_default_page_has_ten_hits(self, search: Search) -> None:
        assert ids(search()) == numbered(range(19, 9, -1))

    def test_k_cuts_further_than_size(self, search: Search) -> None:
        assert ids(search({"size": 5, "ext": {"kitpick": {"k": 2}}})) == numbered([19, 18])

    def test_a_request_may_name_its_own_window(self, search: Search, double: Double) -> None:
        assert ids(search({"size": 2, "ext": {"kitpick": {"window": 7}}})) == numbered([6, 5])
        assert len(double.calls[0]["candidates"]) == 7


class TestWhatPassesThrough:
    def test_aggregations_profile_and_total(self, search: Search) -> None:
        answer = search(
            {"size": 3, "profile": True, "aggs": {"most": {"max": {"field": "number"}}}, "explain": True}
        )
        assert answer["aggregations"]["most"]["value"] == TOTAL - 1
        assert answer["profile"]["shards"]
        assert answer["hits"]["total"] == {"value": TOTAL, "relation": "eq"}
        assert answer["hits"]["hits"][0]["_explanation"]
        assert ids(answer) == numbered([19, 18, 17])

    def test_without_total_hits(self, search: Search) -> None:
        answer = search({"size": 3, "track_total_hits": False})
        assert "total" not in answer["hits"]
        assert ids(answer) == numbered([19, 18, 17])

    def test_collapse(self, search: Search) -> None:
        answer = search({"size": 3, "collapse": {"field": "tool"}})
        assert ids(answer) == numbered([2, 1, 0])
        assert answer["hits"]["hits"][0]["fields"]["tool"] == ["tool2"]

    def test_highlights_stay_with_their_hits(self, search: Search) -> None:
        answer = search({"size": 2, "highlight": {"fields": {"text": {}}}})
        assert all("<em>weather</em>" in hit["highlight"]["text"][0] for hit in answer["hits"]["hits"])

    @pytest.mark.parametrize("shape", SHAPES)
    def test_all_but_the_order_is_as_without_the_plugin(self, search: Search, shape: str) -> None:
        body = {"size": 20, **SHAPES[shape]}
        whole = {"query": {"match": {"text": QUERY}}, **body}
        plain = search.call("POST", "/apis/_search?search_type=dfs_query_then_fetch", whole)
        reranked = search(body)
        assert report(reranked)["status"] == "rescored"
        assert ids(reranked) == ids(plain)[::-1]
        assert unordered(reranked) == unordered(plain)

    def test_msearch(self, search: Search) -> None:
        def line(size: int) -> dict[str, Any]:
            return {"size": size, "search_pipeline": "kitpick", "query": {"match": {"text": QUERY}}}

        head = {"index": "apis", "search_type": "dfs_query_then_fetch"}
        answers = search.call("POST", "/_msearch", [head, line(2), head, line(0), head, line(3)])
        first, counted, third = answers["responses"]
        assert ids(first) == numbered([19, 18])
        assert report(counted)["reason"] == "size_zero"
        assert ids(third) == numbered([19, 18, 17])

    def test_an_explicit_sort_by_score(self, search: Search) -> None:
        answer = search({"size": 2, "sort": ["_score"]})
        assert ids(answer) == numbered([19, 18])
        assert "sort" not in answer["hits"]["hits"][0]

    def test_the_score_is_explained_as_it_is_shown(self, search: Search) -> None:
        for hit in search({"size": 30, "explain": True})["hits"]["hits"]:
            assert hit["_explanation"]["value"] == hit["_score"]
            assert "weight(text:" in str(hit["_explanation"]["details"])

    def test_a_point_in_time(self, search: Search) -> None:
        pit = search.call("POST", "/apis/_search/point_in_time?keep_alive=1m")["pit_id"]
        body = {
            "size": 2,
            "pit": {"id": pit},
            "query": {"match": {"text": QUERY}},
            "search_pipeline": "kitpick",
        }
        answer = search.call("POST", "/_search?search_type=dfs_query_then_fetch", body)
        search.call("DELETE", "/_search/point_in_time", {"pit_id": [pit]})
        assert ids(answer) == numbered([19, 18])
        assert answer["pit_id"]

    def test_a_verbose_pipeline(self, search: Search) -> None:
        parameters = "search_type=dfs_query_then_fetch&search_pipeline=kitpick&verbose_pipeline=true"
        body = {"size": 2, "query": {"match": {"text": QUERY}}}
        answer = search.call("POST", f"/apis/_search?{parameters}", body)
        assert ids(answer) == numbered([19, 18])
        assert [each["processor_name"] for each in answer["processor_results"]] == [
            "kitpick_window",
            "kitpick",
        ]


class TestWhatIsLeftAlone:
    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ({"size": 0}, "size_zero"),
            ({"sort": [{"number": "desc"}]}, "sorted"),
            ({"sort": ["_score", {"number": "asc"}]}, "sort_values"),
            ({"sort": [{"number": "asc"}], "search_after": [3]}, "search_after"),
            ({"query": {"match": {"text": "nothing-like-this"}}}, "no_hits"),
            ({"query": {"match_all": {}}}, "no_query_text"),
        ],
    )
    def test_and_the_report_says_why(
        self, search: Search, double: Double, body: dict[str, Any], reason: str
    ) -> None:
        answer = search(body)
        said = report(answer)
        assert (said["status"], said["reason"]) == ("skipped", reason)
        assert ("message" in said) == (reason == "no_query_text"), "where the request can be mended"
        assert not double.calls

    @pytest.mark.parametrize("section", [{}, {"k": 2}], ids=["whole pages", "k below its pages"])
    def test_a_scroll(self, search: Search, section: dict[str, int]) -> None:
        body = {"size": 4, "query": {"match": {"text": QUERY}}, "ext": {"kitpick": section}}
        answer = search.call("POST", "/apis/_search?scroll=1m&search_pipeline=kitpick", body)
        seen = ids(answer)
        assert report(answer)["reason"] == "scroll"
        while len(ids(answer)):
            answer = search.call(
                "POST", "/_search/scroll", {"scroll": "1m", "scroll_id": answer["_scroll_id"]}
            )
            seen += ids(answer)
        search.call("DELETE", "/_search/scroll", {"scroll_id": [answer["_scroll_id"]]})
        assert sorted(seen) == numbered(range(TOTAL))

    def test_everything_once_an_operator_switches_it_off(self, search: Search) -> None:
        search.put("/_cluster/settings", {"transient": {"kitpick.enabled": False}})
        try:
            answer = search({"size": 3})
        finally:
            search.put("/_cluster/settings", {"transient": {"kitpick.enabled": None}})
        assert ids(answer) == numbered([0, 1, 2])
        assert report(answer)["reason"] == "switched_off"
        assert report(search({"size": 3}))["status"] == "rescored"


class TestQueryText:
    def test_the_request_may_say_it(self, search: Search, double: Double) -> None:
        search({"query": {"match_all": {}}, "ext": {"kitpick": {"query": "will it rain?"}}})
        assert double.calls[0]["query"] == "will it rain?"

    def test_or_where_it_stands(self, search: Search, double: Double) -> None:
        query = {"bool": {"must": [{"match": {"tenant": "acme"}}, {"match": {"text": "weather"}}]}}
        path = "query.bool.must.1.match.text.query"
        search({"query": query, "ext": {"kitpick": {"query_path": path}}})
        assert double.calls[0]["query"] == "weather"

    def test_else_the_only_text_of_the_query_is_taken(self, search: Search, double: Double) -> None:
        search({"query": {"multi_match": {"query": "weather", "fields": ["text", "api"]}}})
        assert double.calls[0]["query"] == "weather"

    def test_of_two_texts_none_is_guessed(self, search: Search) -> None:
        query = {"bool": {"should": [{"match": {"text": "weather"}}, {"match": {"text": "forecast"}}]}}
        assert report(search({"query": query}))["reason"] == "no_query_text"


class TestQueries:
    def test_a_vector_query_sends_its_vector_along(self, search: Search, double: Double) -> None:
        items = documents(6)
        for n, item in enumerate(items.values()):
            item["vector"] = [1.0, n / 10, 0.0, 0.0]
        search.index("vectors", items)
        processor = {"kitpick": {"vector_field": "vector", "vector_model": "m"}}
        search.put("/_search/pipeline/vectors", {**PIPELINE, "response_processors": [processor]})
        knn = {"knn": {"vector": {"vector": [1, 0, 0, 0], "k": 6}}}
        body = {"size": 3, "query": knn, "ext": {"kitpick": {"query": "rain"}}}
        assert ids(search(body, "vectors", "vectors")) == numbered([5, 4, 3])
        (call,) = double.calls
        assert call["vector"] == "AACAPwAAAAAAAAAAAAAAAA=="
        assert call["vector_model"] == "m"
        assert call["candidates"][0]["vector"] == call["vector"]

    def test_a_restricted_source_hides_nothing_from_the_service_and_shows_nothing_more(
        self, search: Search, double: Double
    ) -> None:
        answer = search({"size": 2, "_source": ["number"], "fields": ["api"]})
        assert double.calls[0]["candidates"][1]["text"].startswith("weather forecast and other")
        assert [hit["_source"] for hit in answer["hits"]["hits"]] == [{"number": 19}, {"number": 18}]
        assert answer["hits"]["hits"][0]["fields"] == {"api": ["api19"]}

    def test_no_source_at_all(self, search: Search, double: Double) -> None:
        answer = search({"size": 2, "_source": False})
        assert double.calls[0]["candidates"][1]["tool"] == "tool1"
        assert ids(answer) == numbered([19, 18])
        assert "_source" not in answer["hits"]["hits"][0]
        assert "fields" not in answer["hits"]["hits"][0]

    def test_no_stored_fields_leave_nothing_to_judge(self, search: Search, double: Double) -> None:
        answer = search({"size": 2, "stored_fields": "_none_", "docvalue_fields": ["number"]})
        assert report(answer)["reason"] == "no_text"
        assert [hit["fields"] for hit in answer["hits"]["hits"]] == [{"number": [0]}, {"number": [1]}]

    def test_hits_without_any_text_are_not_judged(self, search: Search, double: Double) -> None:
        search.index("bare", {f"b{n}": {"number": n} for n in range(3)})
        answer = search({"query": {"match_all": {}}, "ext": {"kitpick": {"query": "q"}}}, "bare")
        assert report(answer)["reason"] == "no_text"
        assert "text_fields" in report(answer)["message"]
        assert len(ids(answer)) == 3
        assert not double.calls

    def test_a_hit_without_text_among_others(self, search: Search) -> None:
        search.index("mixed", {"a": {"text": "weather"}, "b": {"number": 1}, "c": {"text": None, "tool": 7}})
        body = {"query": {"match_all": {}}, "ext": {"kitpick": {"query": "q"}}}
        assert report(search(body, "mixed"))["status"] == "rescored"

    def test_the_same_id_in_two_indices_is_two_hits(self, search: Search, double: Double) -> None:
        search.index("twins", documents(2))
        answer = search({"size": 30, "ext": {"kitpick": {"window": 30}}}, "apis,twins")
        sent = [each["id"] for each in double.calls[0]["candidates"]]
        assert len(set(sent)) == len(sent) == 30
        found = [(hit["_index"], hit["_id"]) for hit in answer["hits"]["hits"]]
        assert len(set(found)) == 30
        assert {("apis", "d00"), ("twins", "d00"), ("apis", "d01"), ("twins", "d01")} <= set(found)


class TestPipelines:
    def test_an_index_may_have_one_by_default(self, search: Search) -> None:
        search.index("by-default", documents(5))
        search.put("/by-default/_settings", {"index.search.default_pipeline": "kitpick"})
        answer = search.call("POST", "/by-default/_search", {"query": {"match": {"text": QUERY}}})
        assert ids(answer) == numbered([4, 3, 2, 1, 0])

    def test_a_request_may_bring_its_own(self, search: Search, double: Double) -> None:
        pipeline = {"response_processors": [{"kitpick": {"profile": "bm25", "window": 4}}]}
        body = {"size": 6, "query": {"match": {"text": QUERY}}, "search_pipeline": pipeline}
        answer = search.call("POST", "/apis/_search?search_type=dfs_query_then_fetch", body)
        assert ids(answer) == numbered([3, 2, 1, 0, 4, 5])
        assert double.calls[0]["profile"] == "bm25"

    def test_without_a_window_processor_only_the_first_page_is_rescored(self, search: Search) -> None:
        search.put("/_search/pipeline/no-window", {"response_processors": [{"kitpick": {}}]})
        assert ids(search({"size": 3}, pipeline="no-window")) == numbered([2, 1, 0])
        answer = search({"from": 3, "size": 3}, pipeline="no-window")
        assert ids(answer) == numbered([3, 4, 5])
        assert report(answer)["reason"] == "no_window"

    def test_processors_that_stand_twice_work_once(self, search: Search, double: Double) -> None:
        twice = {name: 2 * processors for name, processors in PIPELINE.items()}
        search.put("/_search/pipeline/twice", twice)
        body = {"size": 3, "_source": ["api"]}
        answer, once = search(body, pipeline="twice"), search(body)
        assert answer["hits"] == once["hits"]
        assert ids(answer) == numbered([19, 18, 17])
        assert report(answer)["status"] == "rescored"
        assert len(double.calls) == 2, "one for each search"

    def test_the_profile_may_be_given_as_stages(self, search: Search, double: Double) -> None:
        profile = {"name": "mine", "stages": [{"stage": "fuse", "dense": 0.0}]}
        search({"ext": {"kitpick": {"profile": profile}}})
        assert double.calls[0]["profile"] == profile

    @pytest.mark.parametrize(
        "section",
        [
            {"endpoint": "http://example.org"},
            {"key": "x"},
            {"window": 0},
            {"window": 100_000},
            {"k": -1},
            {"deadline_ms": 0},
            {"on_failure": "explode"},
            {"profile": 3},
            {"rounds": "two"},
        ],
    )
    def test_nonsense_is_refused(self, search: Search, section: dict[str, Any]) -> None:
        with pytest.raises(Refused) as refused:
            search({"ext": {"kitpick": section}})
        assert refused.value.status == 400
        with pytest.raises(Refused) as refused:
            search.put("/_search/pipeline/bad", {"response_processors": [{"kitpick": section}]})
        assert refused.value.status == 400

    def test_a_window_must_be_sensible(self, search: Search) -> None:
        with pytest.raises(Refused) as refused:
            search.put("/_search/pipeline/bad", {"request_processors": [{"kitpick_window": {"window": 0}}]})
        assert refused.value.status == 400
