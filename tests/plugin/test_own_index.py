"""The plugin over a catalog that kitpick keeps in OpenSearch, through the pipeline of the template."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from double import Call, Double, answering, backwards, forwarding
from real_service import Service
from searching import Search, ids, report

from kitpick_engines.contract import IndexedDocument, IndexSchema, Vector
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.opening import open_engine
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.setup import compare, endpoints
from kitpick_engines.text import rerank_text

pytestmark = pytest.mark.needs("opensearch")

TEMPLATE = Path(__file__).resolve().parents[2] / "plugin/templates/opensearch-plugin/01-pipeline.json"
SCHEMA = IndexSchema("test-encoder", 8, 1)
APIS = {
    "forecast": ("weather", "Weather forecast of a city for the coming days."),
    "current": ("weather", "Weather of a city as it is now."),
    "history": ("weather", "Measured temperatures of past years."),
    "rooms": ("hotels", "Finds hotel rooms in a city, whatever the weather."),
    "guides": ("travel", "Guides of a city."),
}


def document(api: str) -> ApiDocument:
    tool, says = APIS[api]
    return ApiDocument(
        id=f"demo/{tool}/{api}", source="demo", category="Any", tool=tool, api=api,
        description=says, effect=Effect.READ, deprecated=api == "guides",
    )  # fmt: skip


def vector_of(api: str) -> Vector:
    values = np.zeros(8, np.float32)
    values[list(APIS).index(api)], values[7] = 0.8, 0.6
    return values


def opensearch(search: Search) -> str:
    """URL of the catalog."""
    return search.url.replace("http:", "opensearch:") + "/plugin-catalog"


@pytest.fixture(scope="module", autouse=True)
def catalog(search: Search) -> None:
    with closing(open_engine(opensearch(search))) as engine:
        index = engine.ensure(SCHEMA)
        items = [IndexedDocument(document(api), vector_of(api)) for api in APIS]
        with engine.writing(index) as writer:
            writer.write(items)
        with engine.writing(index) as writer:  # another version of each: the former ones must not be seen
            writer.write(items)
            writer.delete(["demo/travel/guides"])
    step = json.loads(TEMPLATE.read_text("utf-8").replace("{{vector_model}}", "test-encoder"))
    search.put("/_search/pipeline/own-index", step["body"])


def asked(search: Search, **section: Any) -> Any:
    words = {
        "multi_match": {"query": "weather of a city", "fields": ["description", "api.text", "tool.text"]}
    }
    knn = {"knn": {"vector": {"vector": vector_of("forecast").tolist(), "k": 5}}}
    query = {"bool": {"must": [words], "should": [knn]}}
    body = {"query": query, "_source": ["id"], "ext": {"kitpick": {"query": "weather of a city", **section}}}
    return search(body, "plugin-catalog", "own-index")


def test_a_hit_is_told_as_the_engine_tells_it(search: Search, double: Double) -> None:
    with double.behaving(answering(backwards)):
        answer = asked(search)
        (call,) = double.calls
    assert report(answer)["status"] == "rescored"
    sent = {each["api"]: each for each in call["candidates"]}
    assert {"forecast", "current", "rooms"} <= set(sent) <= set(APIS) - {"guides"}
    assert len(call["candidates"]) == len(sent)
    for api, candidate in sent.items():
        assert candidate["text"] == rerank_text(document(api))
        assert candidate["tool"] == APIS[api][0]
        assert candidate["effect"] == "read"
        assert base64.b64decode(candidate["vector"]) == vector_of(api).tobytes()
    assert base64.b64decode(call["vector"]) == vector_of("forecast").tobytes()
    assert all(set(hit) == {"_index", "_id", "_score", "_source"} for hit in answer["hits"]["hits"])


@pytest.mark.parametrize("need", ["tools", "neighbours"])
def test_what_is_needed_comes_from_the_committed_state(search: Search, double: Double, need: str) -> None:
    wanted: dict[str, Any] = {"apis_of_tools": ["Any/weather", "Any/travel"]}
    if need == "neighbours":
        wanted = {"neighbours": {"vector": base64.b64encode(vector_of("history").tobytes()).decode(), "k": 5}}

    def needing(call: Call) -> dict[str, Any]:
        return {**backwards(call), **({} if call.get("fetched") else {"need": wanted})}

    with double.behaving(answering(needing)):
        answer = asked(search, window=1)
        fetched = [each["api"] for each in double.calls[1]["fetched"]]
    assert "history" in fetched
    assert "guides" not in fetched
    assert len(fetched) == len(set(fetched))
    assert report(answer)["rounds"] == 1


@pytest.mark.slow
@pytest.mark.needs("serve", "onnxruntime", "weights")
def test_nnn_decoding_runs_over_the_stored_vectors(search: Search, double: Double, service: Service) -> None:
    with double.behaving(forwarding(*service)):
        answer = asked(search, profile="nnn", vector_model="")
    assert report(answer)["status"] == "rescored"
    assert "degraded" not in report(answer)
    assert ids(answer)
    assert any(reason.startswith("decode:") for hit in report(answer)["hits"] for reason in hit["reasons"])


@contextmanager
def naming(search: Search, model: str | None) -> Iterator[None]:
    """The pipeline names another model for a while; None: it names none."""
    before = search.call("GET", "/_search/pipeline/own-index")["own-index"]
    (processor,) = before["response_processors"]
    said = {key: value for key, value in processor["kitpick"].items() if key != "vector_model"}
    named = said if model is None else {**said, "vector_model": model}
    search.put("/_search/pipeline/own-index", {**before, "response_processors": [{"kitpick": named}]})
    try:
        yield
    finally:
        search.put("/_search/pipeline/own-index", before)


class TestTheModelOfTheVectors:
    """What ingestion wrote into the index is compared with what pipeline and request say."""

    def test_is_known_from_the_index(self, search: Search, double: Double) -> None:
        with naming(search, None), double.behaving(answering(backwards)):
            answer = asked(search)
            (call,) = double.calls
        assert call["vector_model"] == "test-encoder"
        assert "vector" in call
        assert "degraded" not in report(answer)

    def test_another_one_in_the_pipeline_takes_the_vectors_and_nothing_else(
        self, search: Search, double: Double
    ) -> None:
        with naming(search, "another"), double.behaving(answering(backwards)):
            answer = asked(search)
            (call,) = double.calls
        assert report(answer)["status"] == "rescored"
        (degraded,) = report(answer)["degraded"]
        assert degraded["stage"] == "vectors"
        assert "another" in degraded["reason"]
        assert "test-encoder" in degraded["reason"]
        assert not {"vector", "vector_model"} & call.keys()
        assert not [each for each in call["candidates"] if "vector" in each]
        assert [each["text"] for each in call["candidates"]]

    def test_a_request_may_say_whose_its_vector_is(self, search: Search, double: Double) -> None:
        with double.behaving(answering(backwards)):
            asked(search, vector_model="test-encoder")
            other = asked(search, vector_model="mine@1")
            calls = [*double.calls]
        assert "vector" in calls[0]
        assert "vector" not in calls[1]
        assert report(other)["degraded"][0]["stage"] == "vectors"

    def test_an_ingest_brings_the_pipelines_up_to_date(self, search: Search) -> None:
        search.put("/plugin-catalog/_settings", {"index.search.default_pipeline": "own-index"})
        try:
            with naming(search, "before"), closing(open_engine(opensearch(search))) as engine:
                engine.ensure(SCHEMA)
                pipeline = search.call("GET", "/_search/pipeline/own-index")["own-index"]
        finally:
            search.put("/plugin-catalog/_settings", {"index.search.default_pipeline": None})
        assert pipeline["response_processors"][0]["kitpick"]["vector_model"] == "test-encoder"
        assert pipeline["response_processors"][0]["kitpick"]["vector_field"] == "vector"
        assert pipeline["request_processors"]

    def test_an_index_of_an_earlier_version_gets_it_with_the_next_ingest(self, search: Search) -> None:
        with closing(open_engine(opensearch(search))) as engine:
            index = engine.ensure(SCHEMA)
            search.put(f"/{index}/_mapping", {"_meta": {}})
            engine.ensure(SCHEMA)
            mapped = search.call("GET", f"/{index}/_mapping")[index]["mappings"]
        assert mapped["_meta"] == {"kitpick": {"vector_model": "test-encoder"}}
        assert mapped["properties"]["vector"]["type"] == "knn_vector"


def parts(search: Search) -> dict[str, list[tuple[str, bool | None]]]:
    """What `kitpick doctor` finds, by part."""
    found: dict[str, list[tuple[str, bool | None]]] = {}
    with closing(open_engine(opensearch(search))) as engine:
        assert isinstance(engine, RemoteEngine)
        live = engine.live()
        assert live is not None
        for part in compare(engine.server, "own-index", live[0], live[1].model):
            found.setdefault(part.name, []).append((part.says, part.ok))
    return found


class TestTheDoctor:
    def test_index_pipeline_and_plugin_agree(self, search: Search, double: Double) -> None:
        found = parts(search)
        assert found["plugin"] == [("0.1.0 on every node", True)]
        assert found["pipeline"] == [("own-index agrees with the index", True)]
        with closing(open_engine(opensearch(search))) as engine:
            assert isinstance(engine, RemoteEngine)
            assert list(endpoints(engine.server).values()) == [double.url]

    def test_another_model_and_missing_fields_are_named(self, search: Search) -> None:
        before = search.call("GET", "/_search/pipeline/own-index")["own-index"]
        processor = {"kitpick": {"vector_model": "another", "vector_field": "nowhere"}}
        search.put("/_search/pipeline/own-index", {**before, "response_processors": [processor]})
        try:
            said = [text for text, ok in parts(search)["pipeline"] if ok is False]
        finally:
            search.put("/_search/pipeline/own-index", before)
        assert any("another" in text and "test-encoder" in text for text in said)
        assert any("no field nowhere" in text for text in said)
        assert not any("no field text" in text for text in said)

    def test_a_default_pipeline_that_is_gone(self, search: Search) -> None:
        search.put("/plugin-catalog/_settings", {"index.search.default_pipeline": "forgotten"})
        try:
            found = parts(search)
        finally:
            search.put("/plugin-catalog/_settings", {"index.search.default_pipeline": None})
        assert [ok for text, ok in found["pipeline"] if "forgotten" in text] == [False]
