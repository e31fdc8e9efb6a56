"""The bytes of an answer are estimated, and room is made for them, before it is built."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.needs("serve", "onnxruntime", "weights")

QUERY = "Send a mail. Pay the bill. Book a flight. " * 4
SEARCH = {"query": QUERY, "index": "tools-apis-0123456789ab-1", "committed": {"match_all": {}}}
LONG = "y" * 100_000


@pytest.fixture
def room(service: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """Bytes of all requests and answers of the service, for one test."""
    monkeypatch.setattr(service.service.gate, "max_bytes", 400_000)
    return 400_000


@pytest.mark.parametrize(
    "more",
    [
        {"filter": {"term": {"a": LONG}}},
        {"committed": {"term": {"a": LONG}}},
        {"principals": [f"{number}{LONG[:1_900]}" for number in range(50)]},
    ],
)
def test_what_every_search_repeats_counts_for_each(service: Any, room: int, more: dict[str, Any]) -> None:
    refused = service.post("/v1/search", SEARCH | more)
    assert refused.status_code == 413
    said = refused.json()["error"]["message"]
    assert f"of at most {room:,} (max_waiting_bytes)" in said
    assert "bytes of `committed` and `filter` in each: shorten those" in said
    assert service.service.gate.bytes == 0
    once = service.post("/v1/search", SEARCH | more | {"query": "book"})
    assert len(once.json()["searches"]) == 2, once.text


@pytest.mark.parametrize(
    ("path", "few", "many"),
    [
        ("/v1/embeddings", {"input": ["a"] * 10}, {"input": ["a"] * 60}),
        ("/v1/embeddings", {"input": ["a"] * 60, "encoding_format": "base64"}, {"input": ["a"] * 200}),
    ],
)
@pytest.mark.usefixtures("room")
def test_vectors_are_refused_before_any_work(
    service: Any, path: str, few: dict[str, Any], many: dict[str, Any]
) -> None:
    assert service.post(path, few).status_code == 200
    refused = service.post(path, many)
    assert refused.status_code == 413
    assert "send fewer" in refused.text
    assert service.service.gate.bytes == 0


@pytest.mark.usefixtures("room")
def test_room_that_others_take_is_waited_for(service: Any) -> None:
    with service.service.gate.hold() as others:
        others.grow(300_000)
        refused = service.post("/v1/embeddings", {"input": ["a"] * 20})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "2")
        assert service.post("/v1/embeddings", {"input": ["a"]}).status_code == 200
    assert service.post("/v1/embeddings", {"input": ["a"] * 20}).status_code == 200
