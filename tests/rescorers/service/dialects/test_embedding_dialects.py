"""OpenAI's embeddings."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")


def test_openai_numbers_and_base64_are_the_same_vectors(service: Any) -> None:
    call = {"model": "encoder-pair", "input": ["weather", "hotel"]}
    numbers = service.post("/v1/embeddings", call).json()["data"]
    coded = service.post("/v1/embeddings", {**call, "encoding_format": "base64"}).json()["data"]
    for index, (one, other) in enumerate(zip(numbers, coded, strict=True)):
        assert one["index"] == other["index"] == index
        vector = np.frombuffer(base64.b64decode(other["embedding"]), "<f4")
        assert np.array(one["embedding"], np.float32).tobytes() == vector.tobytes()
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_token_ids_are_those_of_the_models_own_vocabulary(service: Any) -> None:
    """`weather` is token 4633; the special tokens may be there or not."""
    vectors = [
        service.post("/v1/embeddings", {"model": "encoder-pair", "input": given}).json()["data"][0][
            "embedding"
        ]
        for given in ("weather", [4633], [[101, 4633, 102]])
    ]
    assert vectors[0] == vectors[1] == vectors[2]


def test_the_tokens_that_were_read_are_counted(service: Any) -> None:
    answer = service.post("/v1/embeddings", {"model": "encoder-pair", "input": "weather"}).json()
    assert answer["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize("model", [{}, {"model": None}, {"model": "default/not-specified"}])
def test_a_call_need_not_name_the_model(service: Any, model: dict[str, Any]) -> None:
    answer = service.post("/v1/embeddings", {"input": "weather", **model}).json()
    assert answer == service.post("/v1/embeddings", {"input": "weather", "model": "encoder-pair"}).json()
    assert answer["model"] == "encoder-pair"


def test_another_length_than_the_models_is_refused(service: Any) -> None:
    answer = service.post("/v1/embeddings", {"model": "encoder-pair", "input": "a", "dimensions": 100})
    assert answer.status_code == 400
    assert "384" in answer.json()["error"]["message"]


def test_models_are_listed(service: Any) -> None:
    names = {entry["id"] for entry in service.get("/v1/models").json()["data"]}
    assert names == {"rerank", "kitpick", "toolrerank", "encoder-pair"}
