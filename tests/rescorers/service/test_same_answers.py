"""The same numbers to the last bit: alone, in company, over HTTP, in this process."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Candidate, Place
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_service.exchange import call_of
from kitpick_service.ticket import Ticket

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
WORDS = [
    "weather",
    "forecast",
    "hotel",
    "room",
    "flight",
    "book",
    "payment",
    "refund",
    "invoice",
    "mail",
    "file",
    "bucket",
    "queue",
]


def texts_of(seed: int, count: int) -> list[str]:
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(WORDS, random.integers(1, 90))) for _ in range(count)]


@pytest.fixture(scope="module")
def alone() -> Any:
    return load_cross_encoder()


def test_scores_in_company_are_those_of_a_model_alone(start: Any, alone: Any) -> None:
    requests = [(f"book a {word}", texts_of(seed, 3 + 2 * seed)) for seed, word in enumerate(WORDS)]
    with start(score_cache=0) as service, ThreadPoolExecutor(len(requests)) as callers:
        models = service.service.models
        asked = [
            callers.submit(models.scorer(Ticket("t", 120)).score, query, texts) for query, texts in requests
        ]
        for (query, texts), answer in zip(requests, asked, strict=True):
            assert answer.result(120).tobytes() == alone.score(query, texts).tobytes()


def test_vectors_over_http_are_those_of_an_encoder_alone(service: Any) -> None:
    texts = texts_of(7, 12)
    data = service.post("/v1/embeddings", {"input": texts}).json()["data"]
    sent = [item["embedding"] for item in data]
    assert np.array(sent, np.float32).tobytes() == load_encoder().encode(texts).tobytes()


def test_an_answer_over_http_is_that_of_a_pipeline_in_this_process(service: Any, alone: Any) -> None:
    random = np.random.default_rng(3)
    query, vector = "book a room", random.normal(size=8).astype(np.float32)
    candidates = [
        Candidate(
            f"id{rank}", "shop", f"tool{rank % 3}", f"api{rank}", text,
            random.normal(size=8).astype(np.float32), Place(rank, 1 / rank), Place(21 - rank, 0.5),
        )
        for rank, text in enumerate(texts_of(11, 20), start=1)
    ]  # fmt: skip
    request = RescoreRequest(query, candidates, vector, k=15)
    for name in ("rerank", "nnn"):
        here = rescore(request, load_profile(name), Models(scorer=alone))
        call = call_of(replace(request, vector_model="test@1"), profile=name, explain=True)
        there = service.post("/v1/rescore", msgspec.json.encode(call)).json()
        assert there["results"] == msgspec.json.decode(msgspec.json.encode(here.results)), name
        assert [entry["order"] for entry in there["trace"]] == [list(entry.order) for entry in here.trace]


def test_a_thousand_documents_and_five_give_the_scores_they_give_alone(service: Any, alone: Any) -> None:
    many, few = [f"{text[:60]} {n}" for n, text in enumerate(texts_of(5, 150))], texts_of(6, 5)
    with ThreadPoolExecutor(2) as callers:
        long = callers.submit(service.post, "/rerank", {"query": "a", "texts": many, "raw_scores": True})
        short = callers.submit(service.post, "/rerank", {"query": "a", "texts": few, "raw_scores": True})
        for texts, answer in ((many, long), (few, short)):
            scores = {item["index"]: item["score"] for item in answer.result(120).json()}
            expected = alone.score("a", texts)
            assert [scores[n] for n in range(len(texts))] == [float(f"{score:.6f}") for score in expected]
