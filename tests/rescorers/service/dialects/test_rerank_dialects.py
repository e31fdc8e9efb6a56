"""Cohere, Jina and TEI rerank as their documents describe them. Real clients are tried in `clients/`."""

from __future__ import annotations

import re
import time
from typing import Any

import httpx2
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers import scoring
from kitpick_service.calls import decode
from kitpick_service.dialect import plain_number
from kitpick_service.documents import read_document, read_documents
from kitpick_service.errors import Cancelled, Invalid
from kitpick_service.protocol import RescoreCall
from kitpick_service.ticket import Ticket

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
QUERY = "What will the weather be like in Lisbon?"
TEXTS = ["Finds hotel rooms.", "Weather forecast of a city.", "Sends an e-mail."]


def test_cohere_v2(service: Any) -> None:
    answer = service.post("/v2/rerank", {"model": "rerank", "query": QUERY, "documents": TEXTS, "top_n": 2})
    body = answer.json()
    assert answer.status_code == 200
    assert body["results"][0]["index"] == 1
    assert len(body["results"]) == 2
    assert all(0 <= item["relevance_score"] <= 1 for item in body["results"])
    assert body["meta"]["api_version"]["version"] == "2"
    assert body["id"] == answer.headers["x-request-id"]


def test_cohere_v1_reads_objects_by_rank_fields(service: Any) -> None:
    documents = [{"title": text, "other": "x"} for text in TEXTS]
    call = {"query": QUERY, "documents": documents, "rank_fields": ["title"], "return_documents": True}
    results = service.post("/v1/rerank", call).json()["results"]
    assert results[0] == {**results[0], "index": 1, "document": documents[1]}


def test_jina_gets_the_documents_unless_it_does_not_want_them(service: Any) -> None:
    call = {"query": QUERY, "documents": [*TEXTS, {"text": "a", "n": None}]}
    for path in ("/v1/rerank", "/rerank"):
        for extra in ({}, {"return_documents": None, "top_n": None}):
            answer = service.post(path, {**call, **extra}).json()
            assert answer["object"] == "list"
            returned = {item["index"]: item["document"] for item in answer["results"]}
            assert returned[1] == {"text": TEXTS[1]}
            assert returned[3] == call["documents"][3], "with its null"
        bare = service.post(path, {**call, "return_documents": False}).json()
        assert all(set(item) == {"index", "relevance_score"} for item in bare["results"])


def test_jina_finds_its_usage_in_the_same_answer(service: Any) -> None:
    body = service.post("/v1/rerank", {"model": "rerank", "query": "unheard of", "documents": TEXTS}).json()
    assert body["model"] == "rerank"
    assert body["usage"]["total_tokens"] > 0


def test_tei_answers_a_bare_list(service: Any) -> None:
    ranks = service.post("/rerank", {"query": QUERY, "texts": TEXTS, "return_text": True}).json()
    assert ranks[0]["text"] == TEXTS[1]
    assert [rank["score"] for rank in ranks] == sorted((rank["score"] for rank in ranks), reverse=True)
    raw = service.post("/rerank", {"query": QUERY, "texts": TEXTS, "raw_scores": True}).json()
    assert min(rank["score"] for rank in raw) < 0


@pytest.mark.parametrize(
    ("path", "body", "status", "shape"),
    [
        ("/v2/rerank", {"query": "q"}, 400, {"id", "message"}),
        ("/v2/rerank", {"query": "q", "documents": ["a"], "model": "gpt"}, 404, {"id", "message"}),
        ("/v1/rerank", {"query": "q"}, 422, {"message", "detail"}),
        ("/rerank", {"query": "q", "texts": []}, 400, {"error", "error_type"}),
        ("/rerank", {"query": "q"}, 422, {"error", "error_type"}),
        ("/rerank", {"query": "q", "texts": ["a"] * 3_000}, 413, {"error", "error_type"}),
        ("/v1/embeddings", {"input": "a", "model": "gpt"}, 404, {"error"}),
        ("/v1/embeddings", {"model": "encoder-pair"}, 400, {"error"}),
        ("/v1/embeddings", {"input": [1, 99_999], "model": "encoder-pair"}, 400, {"error"}),
        ("/v1/embeddings", {"input": [1, "a"], "model": "encoder-pair"}, 400, {"error"}),
    ],
)
def test_each_dialect_words_its_own_errors(
    service: Any, path: str, body: Any, status: int, shape: set[str]
) -> None:
    answer = service.post(path, body)
    assert answer.status_code == status
    assert set(answer.json()) == shape


@pytest.mark.parametrize("path", ["/v2/rerank", "/v1/rerank"])
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ({"query": "q", "documents": []}, "list of documents must not be empty"),
        ({"query": " ", "documents": ["a"]}, "query must not be empty"),
    ],
)
def test_a_rerank_of_nothing_is_refused_as_cohere_does(
    service: Any, path: str, call: Any, reason: str
) -> None:
    answer = service.post(path, call)
    assert answer.status_code == 400
    assert reason in answer.text


@pytest.mark.parametrize("count", [1, 100, 101, 250])
def test_search_units_count_documents_by_the_hundred(service: Any, count: int) -> None:
    answer = service.post("/v2/rerank", {"query": "q", "documents": ["a"] * count}).json()
    assert answer["meta"]["billed_units"]["search_units"] == -(-count // 100)


def test_fields_that_are_null_count_as_left_out(service: Any) -> None:
    calls = {
        "/v1/rerank": {
            "query": QUERY,
            "documents": [{"text": "a", "title": None}, "b"],
            **dict.fromkeys(("top_n", "rank_fields", "return_documents", "max_chunks_per_doc", "model")),
        },
        "/v2/rerank": {"query": QUERY, "documents": ["a"], "model": None, "max_tokens_per_doc": None},
        "/rerank": {
            "query": QUERY,
            "texts": ["a"],
            **dict.fromkeys(("truncate", "truncation_direction", "raw_scores", "return_text")),
        },
        "/v1/embeddings": {
            "input": "a",
            "model": "encoder-pair",
            **dict.fromkeys(("user", "encoding_format", "dimensions")),
        },
        "/v1/rescore": {
            "query": QUERY,
            "candidates": [{"id": "a", "text": "a", "tool": None, "deprecated": None}],
            **dict.fromkeys(("k", "explain", "fetched", "vector_model", "complete_tools")),
        },
    }
    for path, call in calls.items():
        assert service.post(path, call).status_code == 200, path
    assert service.post("/rerank", {"query": None, "texts": ["a"]}).status_code == 422
    assert service.post("/v1/embeddings", {"input": [None], "model": "encoder-pair"}).status_code == 400


@pytest.mark.parametrize(
    "document", [{"limits": {"max": None}}, {"text": "a", "b": [{"c": None}]}, {"tool": "x", "text": None}]
)
def test_a_document_is_read_alike_whatever_else_is_null(service: Any, document: Any) -> None:
    """Only fields of the call count as left out: content may hold null."""
    call = {"query": QUERY, "documents": [document, "max null"]}
    plain = service.post("/v1/rerank", call).json()["results"]
    assert service.post("/v1/rerank", {**call, "rank_fields": None}).json()["results"] == plain
    assert {item["index"]: item["document"] for item in plain}[0] == document


def test_fields_of_calls_that_are_null_are_left_out_at_every_level() -> None:
    decoder = msgspec.json.Decoder(RescoreCall)
    stages = [{"stage": "fuse", "k": None}, {"stage": "cross_encode", "candidates": None}]
    call = {
        "query": "q",
        "candidates": [{"id": "a", "tool": None, "fields": {"description": None, "parameters": None}}],
        "profile": {"name": "x", "stages": stages, "description": None},
        "vector": None,
    }
    found = decode(decoder, msgspec.json.encode(call))
    assert isinstance(found, RescoreCall)
    assert found.candidates[0].fields is not None
    with pytest.raises(Invalid):
        decode(decoder, msgspec.json.encode({**call, "candidates": None, "query": None}))


LONG = "weather " * 900


@pytest.mark.parametrize(
    "call",
    [
        {"query": "q", "texts": ["a", LONG]},
        {"query": LONG, "texts": ["a"]},
    ],
)
def test_tei_refuses_what_is_too_long_where_it_must_not_be_cut(service: Any, call: Any) -> None:
    for option in ({"truncate": False}, {"truncation_direction": "Left"}):
        refused = service.post("/rerank", {**call, **option})
        assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")
    assert service.post("/rerank", call).status_code == 200
    fits = {"query": "q", "texts": ["a"], "truncate": False, "truncation_direction": "Left"}
    assert service.post("/rerank", fits).status_code == 200


def test_max_tokens_per_doc_cuts_documents(service: Any) -> None:
    document = "Weather forecast of a city. " + "Hotels and trains and invoices. " * 20
    call = {"query": QUERY, "documents": [document, "Weather forecast of a city."], "max_tokens_per_doc": 6}
    for path in ("/v2/rerank", "/v1/rerank", "/rerank"):
        results = service.post(path, call).json()["results"]
        assert results[0]["relevance_score"] == results[1]["relevance_score"]
    whole = service.post("/v2/rerank", {**call, "max_tokens_per_doc": 4_096}).json()["results"]
    assert whole[0]["relevance_score"] != whole[1]["relevance_score"]


def test_documents_that_are_longer_than_the_model_reads_are_named(service: Any) -> None:
    most = service.get("/info").json()["max_input_length"]
    call = {"query": "q", "documents": ["a", "weather " * most, "b", LONG], "model": "rerank"}
    for path in ("/v2/rerank", "/v1/rerank"):
        (warning,) = service.post(path, call).json()["meta"]["warnings"]
        assert warning.startswith(f"documents[1] and 1 more were read up to {most} tokens")
    fits = {"query": "q", "documents": ["a", "weather " * (most - 4)]}
    assert "warnings" not in service.post("/v2/rerank", fits).json()["meta"]
    wanted = {**call, "max_tokens_per_doc": 5}
    assert "warnings" not in service.post("/v2/rerank", wanted).json()["meta"], "the caller asked for it"


def test_scores_are_printed_so_that_every_client_reads_them(service: Any) -> None:
    """ml-commons fails for `1`, for an exponent, and for more than 18 characters."""
    text = service.post("/v1/rerank", {"query": QUERY, "documents": [*TEXTS, "", "zxqv " * 50]}).text
    scores = re.findall(r'"relevance_score":([^,}]+)', text)
    assert len(scores) == 5
    assert all(re.fullmatch(r"[01]\.\d{6}", score) for score in scores)


@pytest.mark.parametrize(
    ("value", "printed"),
    [(1, "1.000000"), (0, "0.000000"), (1e-9, "0.000000"), (-1e-9, "0.000000"), (-2.5, "-2.500000")],
)
def test_numbers_have_a_point_and_no_exponent(value: float, printed: str) -> None:
    assert bytes(plain_number(value)).decode() == printed


def test_objects_tell_tool_and_category() -> None:
    given = {"tool": "weather", "category": "W", "api": "forecast", "description": "Of a city."}
    document = read_document(given)
    assert (document.tool, document.category, document.api) == ("weather", "W", "forecast")
    assert document.text == "weather: forecast. Of a city. (W)"


def test_all_of_a_long_description_is_scored() -> None:
    given = {"tool": "weather", "category": "W", "description": "One. Two. Three. The rest, too."}
    assert read_document(given).text == "weather: . One. Two. Three. (W)\nThe rest, too."


PROSE = "category: support\ntitle: Reset your password\ncontent: To reset it, open the settings."


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "tool: weather\ncategory: W\napi: forecast",
        'tool: !!int ""',
        "tool:\n " + "- " * 32_000 + "x",
        "tool: " + "[" * 30_000,
        "tool: x\na0: &a0 {k: v}\na1: &a1 {<<: [*a0, *a0]}",
    ],
    ids=["prose", "yaml", "bad tag", "deep block", "deep flow", "merge"],
)
@pytest.mark.parametrize("path", ["/v2/rerank", "/v1/rerank", "/rerank"])
def test_a_string_is_plain_text_whatever_it_looks_like(service: Any, path: str, text: str) -> None:
    """Scored like the same text that cannot be taken for YAML, in every dialect."""
    words = " ".join(text.split())
    name = "texts" if path == "/rerank" else "documents"
    answer = service.post(path, {"query": "how do I reset my password", name: [text, words]}).json()
    ranks = answer if path == "/rerank" else answer["results"]
    key = "score" if path == "/rerank" else "relevance_score"
    assert ranks[0][key] == ranks[1][key]


def read(*given: Any, fields: tuple[str, ...] = (), document_format: Any = "yaml") -> Any:
    return read_documents(given, Ticket("t", 30), fields, document_format)


def test_a_request_can_say_that_its_strings_are_yaml() -> None:
    document = read("tool: weather\ncategory: W\napi: forecast\ndescription: Of a city.\n").items[0]
    assert document == read_document(
        {"tool": "weather", "category": "W", "api": "forecast", "description": "Of a city."}
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("tool: [", "parsed"),
        ("just words", "mapping"),
        ("tool: x\ntool: y", "twice"),
        ("a: &a {k: v}\nb: {<<: *a}", "merge"),
        ("tool:\n " + "- " * 30_000 + "x", "deep"),
        ("tool: " + "[" * 30_000, "deep"),
        ("t: &a [x, x]\nb: &b [*a, *a]\nc: " + "[" + ", ".join(["*b"] * 9_000) + "]", "written out"),
        ("a: " + "x" * 70_000, "longer"),
        ("t: &a " + "x" * 100 + "\nb: [" + "*a, " * 30 + "*a]", "written out"),
        ("a: \x00", "parsed"),
        ("? [a]\n: b", "key"),
    ],
)
def test_yaml_that_cannot_be_read_is_plain_text_and_the_answer_says_so(text: str, reason: str) -> None:
    found = read("tool: x\napi: y", text)
    assert found.items[1].text == text
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("documents[1] was read as plain text: ")
    assert reason in found.warnings[0]


def test_a_body_holds_no_text_that_is_many_times_as_long() -> None:
    """What waits is bounded by the bytes of bodies: aliases must not make more of them."""
    bomb = "t: &a " + "x" * 500 + "\nb: [" + ", ".join(["*a"] * 120) + "]"
    found = read(*[bomb] * 50)
    assert sum(len(item.text) for item in found.items) < 8 * 50 * len(bomb)
    assert len(found.warnings) == 21, "twenty, and how many more"
    shared = {"type": "string", "description": "Name of a city"}
    dumped = yaml.safe_dump({"tool": "x", "from": shared, "to": shared})
    assert "*id001" in dumped
    (item,) = read(dumped).items
    assert item.text.count("Name of a city") == 2


@pytest.mark.parametrize("value", ["010", "no", "1.10", "2020-01-01", "0x1F", "~", "1_000"])
def test_yaml_scalars_are_scored_as_they_are_written(value: str) -> None:
    assert f"version: {value}" in read(f"tool: x\nversion: {value}").items[0].text
    assert read(f"tool: {value}").items[0].tool == value


@given(
    st.dictionaries(
        st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
        | st.sampled_from(["tool", "category", "api", "name", "text", "description"]),
        st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=12),
        min_size=1,
    )
)
def test_nothing_that_an_object_says_is_lost(document: dict[str, str]) -> None:
    """Every word is in the text or is the document's place."""
    found = read_document(document)
    scored = "".join(found.text.split()) + found.tool + found.category + found.api
    for value in document.values():
        assert value in scored


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"description": "word " * 400}, "description"),
        ({"description": "Takes a <token> of yours."}, "description"),
        ({"parameters": [{"name": "city", "description": "Where it rains"}]}, "parameters"),
        ({"parameters": {"city": "Where it rains"}}, "parameters"),
        ({"parameters": [f"name{n}" for n in range(40)]}, "parameters"),
        ({"description": "word " * 400, "parameters": {"a": 1}}, "description and parameters"),
    ],
)
def test_fields_that_are_scored_in_part_are_named(fields: Any, named: str) -> None:
    (warning,) = read({"tool": "x", "api": "y"}, {"tool": "x", "api": "y", **fields}).warnings
    assert warning.startswith(f"{named} of documents[1] were scored in part only")


@pytest.mark.parametrize(
    "fields",
    [
        {"description": "word " * 200},
        {"description": "What the weather is (today)."},
        {"parameters": ["cityName", "days_of_week"]},
        {"parameters": [{"name": "city"}, {"name": "days", "description": None}]},
        {"parameters": [1, {"name": "a"}]},
        {"text": "whole", "description": "word " * 400, "parameters": [{"name": "a", "type": "b"}]},
        {"other": "word " * 5_000},
    ],
)
def test_what_is_scored_whole_is_not_named(fields: Any) -> None:
    assert read({"tool": "x", "api": "y", **fields}).warnings == ()


def test_a_value_without_a_text_is_refused_by_its_place() -> None:
    """No JSON comes so far; whoever reads documents from elsewhere hears where it is."""
    with pytest.raises(Invalid, match=r"documents\[1\]: a value that is too large"):
        read({"tool": "x"}, {"tool": "x", "n": 10**5_000})


def test_fields_that_are_no_strings_are_scored_as_json() -> None:
    found = read_document({"tool": "x", "limits": {"max": 5}, "parameters": [1, "a"], "beta": True})
    assert found.text == 'x: . \nlimits: {"max":5}\nparameters: [1,"a"]\nbeta: true'.replace(" \n", "\n")


def test_reading_documents_counts_against_the_deadline(service: Any) -> None:
    """Two hundred long documents: reading them takes many seconds of a processor, and the caller has one."""
    document = "tool: x\nlist:\n" + "- [a, b, c, {d: e}]\n" * 2_900
    call = {"query": "q", "documents": [document] * 200, "document_format": "yaml"}
    started = time.process_time()
    answer = service.post("/v2/rerank", call, headers={"x-deadline-ms": "1000"})
    assert answer.status_code == 504
    assert time.process_time() - started < 20, "of the processor, for both sides"


class Leaving(Ticket):
    """The caller leaves after the third look at the ticket."""

    looks = 0

    def check(self) -> None:
        self.looks += 1
        if self.looks > 3:
            self.cancel()
        super().check()


@pytest.mark.parametrize("document_format", ["text", "yaml"])
def test_no_document_is_read_for_a_caller_who_has_left(document_format: Any) -> None:
    ticket = Leaving("t", 600)
    with pytest.raises(Cancelled):
        read_documents(["tool: x"] * 100, ticket, (), document_format)
    assert ticket.looks == 4, "one before each document"


@pytest.mark.parametrize(
    "blank",
    ["", " \n\t", "\u200b\u200d\ufeff", "\u2060\u00ad", "\u3164", "\u2800\x00", "...", " \u2014 ", "(?)"],
)
@pytest.mark.parametrize("model", ["rerank", "kitpick"])
def test_a_document_that_says_nothing_is_last_and_the_answer_says_so(
    service: Any, model: str, blank: str
) -> None:
    call = {"model": model, "query": "weather", "documents": [blank, "weather forecast", "zebra crossing"]}
    answer = service.post("/v2/rerank", call).json()
    assert [item["index"] for item in answer["results"]][-1] == 0
    assert answer["results"][-1]["relevance_score"] == 0
    assert answer["meta"]["warnings"] == ["documents[0] says nothing and was placed last"]
    ranks = service.post("/rerank", {"query": "weather", "texts": call["documents"]}).json()
    assert (ranks[-1]["index"], ranks[-1]["score"]) == (0, 0)


@pytest.mark.parametrize("named", ["%", "->", "\u2602", "C", "7", "\u96e8"])
def test_a_sign_says_something(service: Any, named: str) -> None:
    answer = service.post("/v2/rerank", {"query": "weather", "documents": [named]}).json()
    assert "warnings" not in answer["meta"]
    assert answer["results"][0]["relevance_score"] > 0


@pytest.mark.parametrize("model", ["rerank", "kitpick"])
def test_a_document_that_says_nothing_is_last_whatever_number_it_gets(
    service: Any, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model may give a text that says something less than the number that stands for nothing."""
    monkeypatch.setattr(scoring, "BLANK_LOGIT", 12.0)
    call = {"model": model, "query": "weather", "documents": ["", "weather forecast", "zebra crossing"]}
    results = service.post("/v2/rerank", call).json()["results"]
    assert (results[-1]["index"], results[-1]["relevance_score"]) == (0, 0)


@pytest.mark.parametrize("sent", ["tool: x\nfoo: bar", {"tool": "x", "foo": "bar"}, {"text": "a", "b": [1]}])
def test_documents_come_back_as_they_were_sent(service: Any, sent: Any) -> None:
    call = {"query": "q", "documents": [sent], "return_documents": True, "document_format": "yaml"}
    (result,) = service.post("/v1/rerank", call).json()["results"]
    assert result["document"] == ({"text": sent} if isinstance(sent, str) else sent)


def test_the_tool_a_document_names_brings_its_siblings_along(service: Any) -> None:
    """What a single-tool request concentrates on is told by the YAML; scores never rise along the list."""
    documents = [
        "tool: mail\ntext: Sends an e-mail.",
        "tool: weather\ntext: Weather forecast of a city for the coming days.",
        "tool: books\ntext: Weather in novels. Finds books about the weather of a city.",
        "tool: weather\ntext: Registers a station.",
    ]
    query = "What will the weather be like in Lisbon in the coming days?"
    call = {"model": "toolrerank", "query": query, "documents": documents, "document_format": "yaml"}
    results = service.post("/v2/rerank", call).json()["results"]
    order = [item["index"] for item in results]
    assert order.index(3) == 1, "the sibling of the best follows it, whatever its own score"
    scores = [item["relevance_score"] for item in results]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4, "clients that sort by score come to the same order"


def test_tei_tells_what_it_serves(service: Any) -> None:
    info = service.get("/info").json()
    assert info["model_type"] == {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}}
    assert info["max_input_length"] > 100
    assert service.get("/health").status_code == 200


def test_vllm_sends_documents_to_tei_s_path(service: Any) -> None:
    call = {"model": "rerank", "query": QUERY, "documents": TEXTS, "top_n": 1, "return_documents": True}
    answer = service.post("/rerank", call).json()
    assert answer["results"][0]["document"] == {"text": TEXTS[1]}
    assert answer["object"] == "list"
    assert answer["results"] == service.post("/v1/rerank", call).json()["results"]
    more = service.post("/rerank", {**call, "truncate": True, "raw_scores": False}).json()
    assert more["results"] == answer["results"]


@pytest.mark.parametrize(
    "more",
    [{"instruction": "find"}, {"raw_scores": True}, {"truncate": False}, {"prompt_name": "query"},
     {"truncation_direction": "left"}, {"texts": ["another"]}],
)  # fmt: skip
def test_nothing_that_comes_with_documents_is_ignored(service: Any, more: dict[str, Any]) -> None:
    refused = service.post("/rerank", {"query": QUERY, "documents": TEXTS, **more})
    assert (refused.status_code, refused.json()["error_type"]) == (422, "Validation")


def test_nor_is_what_comes_with_texts(service: Any) -> None:
    call = {"query": QUERY, "texts": TEXTS}
    assert service.post("/rerank", {**call, "top_n": 1}).json() == service.post("/rerank", call).json()[:1]
    assert service.post("/rerank", {**call, "instruction": "find"}).status_code == 422


def test_one_model_can_be_looked_up(service: Any) -> None:
    assert service.get("/v1/models/rerank").json()["id"] == "rerank"
    missing = service.get("/v1/models/gpt-4")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    ("method", "path", "shape"),
    [
        ("GET", "/v2/rerank", {"id", "message"}),
        ("POST", "/v2/nothing", {"id", "message"}),
        ("GET", "/rerank", {"error", "error_type"}),
        ("POST", "/info", {"error", "error_type"}),
        ("POST", "/voyage/v1/rerank", {"error"}),
        ("POST", "/infinity/rerank", {"error"}),
        ("POST", "/v1/models/rerank", {"error"}),
        ("GET", "/nothing", {"error"}),
    ],
)
def test_wrong_paths_and_methods_are_worded_as_their_path_is(
    service: Any, method: str, path: str, shape: set[str]
) -> None:
    answer = httpx2.request(method, service.url + path, timeout=60)
    assert answer.status_code in {404, 405}
    assert set(answer.json()) == shape
