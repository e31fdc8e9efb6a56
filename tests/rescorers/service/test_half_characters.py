"""A text that was cut in the middle of a character is read, and refuses no batch that it comes in."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kitpick_service.calls import decode
from kitpick_service.errors import Malformed

DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder()
HALF = rb"\ud83d"


@pytest.mark.parametrize(
    ("escaped", "read"),
    [
        (rb"sun \ud83d", "sun \ufffd"),
        (rb"\uDE00 sun", "\ufffd sun"),
        (rb"\ud83d\ud83d\ude00\ude00", "\ufffd\U0001f600\ufffd"),
        (rb"\ud83d\n", "\ufffd\n"),
        (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
        (rb"\\\ud83d", "\\\ufffd"),
        (rb"\ud83d\ude00 \ud800", "\U0001f600 \ufffd"),
    ],
)
def test_half_a_pair_is_the_replacement_character(escaped: bytes, read: str) -> None:
    assert decode(DECODER, b'["' + escaped + b'"]') == [read]


def test_what_is_no_json_for_another_reason_is_refused() -> None:
    for body in (b'["\\ud83d', rb'["\ud8"]', rb'["\ud83d"', b'["\xed\xa0\x80"]'):
        with pytest.raises(Malformed):
            decode(DECODER, body)


@pytest.mark.needs("serve", "onnxruntime", "weights")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", b'{"input": ["a", "%s"]}'),
        ("/rerank", b'{"query": "q", "texts": ["a", "%s"]}'),
        ("/v2/rerank", b'{"model": "kitpick", "query": "q", "documents": ["a", "%s"]}'),
        ("/v1/rescore", b'{"query": "%s", "candidates": [{"id": "a", "text": "a"}]}'),
    ],
)
def test_no_door_refuses_a_batch_for_it(service: Any, path: str, body: bytes) -> None:
    answer = service.post(path, body % HALF)
    assert answer.status_code == 200, answer.text
