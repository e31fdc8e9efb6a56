"""Cohere, Jina and TEI rerank as their documents describe them. Real clients are tried in `clients/`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from toolrank_rescorers.service.documents import read_document
from toolrank_rescorers.service.numbers import plain_number

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
    assert results[0] == {**results[0], "index": 1, "document": {"text": TEXTS[1]}}


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
        ("/embed", {"inputs": []}, 400, {"error", "error_type"}),
        ("/embed", {"inputs": "a", "normalize": False}, 422, {"error", "error_type"}),
        ("/v1/embeddings", {"input": "a", "model": "gpt"}, 404, {"error"}),
        ("/v1/embeddings", {"input": "a"}, 400, {"error"}),
        ("/v1/embeddings", {"input": [1, 99_999], "model": "minilm-l6"}, 400, {"error"}),
        ("/v1/embeddings", {"input": [1, "a"], "model": "minilm-l6"}, 400, {"error"}),
    ],
)
def test_each_dialect_words_its_own_errors(
    service: Any, path: str, body: Any, status: int, shape: set[str]
) -> None:
    answer = service.post(path, body)
    assert answer.status_code == status
    assert set(answer.json()) == shape


def test_no_documents_are_no_results(service: Any) -> None:
    assert service.post("/v2/rerank", {"query": "q", "documents": []}).json()["results"] == []


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


@pytest.mark.parametrize(
    "given",
    [
        {"tool": "weather", "category": "W", "api": "forecast", "description": "Of a city."},
        "tool: weather\ncategory: W\napi: forecast\ndescription: Of a city.\n",
    ],
)
def test_objects_and_yaml_tell_tool_and_category(given: Any) -> None:
    document = read_document(given)
    assert (document.tool, document.category, document.api) == ("weather", "W", "forecast")
    assert document.text == "weather: forecast. Of a city. (W)"


@pytest.mark.parametrize(
    "text",
    ["A tool: for everything", "note\ntool: x", "tool: [", "tool: x\n\tcategory: y: z", "tool: &a [*a]" * 99],
)
def test_what_is_no_yaml_is_text(text: str) -> None:
    assert read_document(text).text == text


def test_the_tool_a_document_names_brings_its_siblings_along(service: Any) -> None:
    """What a single-tool request concentrates on is told by the YAML; scores never rise along the list."""
    documents = [
        "tool: mail\ntext: Sends an e-mail.",
        "tool: weather\ntext: Weather forecast of a city for the coming days.",
        "tool: books\ntext: Weather in novels. Finds books about the weather of a city.",
        "tool: weather\ntext: Registers a station.",
    ]
    call = {"model": "toolrerank", "query": QUERY, "documents": documents}
    results = service.post("/v2/rerank", call).json()["results"]
    order = [item["index"] for item in results]
    assert order.index(3) == 1, "the sibling of the best follows it, whatever its own score"
    scores = [item["relevance_score"] for item in results]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 4, "clients that sort by score come to the same order"
