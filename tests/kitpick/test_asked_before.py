"""Nobody learns from an answer, nor from how fast it comes, whether somebody else asked the same before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_models.encoders import CrossEncoder, Encoder

pytestmark = pytest.mark.needs("weights", "onnxruntime")
BOSS, NOBODY = Filter(principals=frozenset({"boss"})), Filter()
REQUEST = "will it rain where the party is"


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The requests that the encoder reads, in the order in which it does."""
    read: list[tuple[str, ...]] = []
    plain = Encoder.encode_requests

    def encode(self: Encoder, texts: Any, *rest: Any) -> Any:
        read.append(tuple(texts))
        return plain(self, texts, *rest)

    monkeypatch.setattr(Encoder, "encode_requests", encode)
    return read


@pytest.mark.parametrize(
    "asks",
    [
        lambda catalog, caller: catalog.search(REQUEST, filter=caller),
        lambda catalog, caller: catalog.feedback(REQUEST, ["functions/functions/get_weather"], filter=caller),
        lambda catalog, caller: catalog.intents.confirmed(REQUEST, caller),
    ],
    ids=["search", "feedback", "confirmed"],
)
def test_what_one_caller_asked_is_embedded_again_for_another(
    catalog: Catalog, embedded: list[tuple[str, ...]], asks: Callable[[Catalog, Filter], Any]
) -> None:
    catalog.feedback("is it wet", ["functions/functions/get_weather"])
    embedded.clear()
    asks(catalog, BOSS)
    assert (REQUEST,) in embedded
    for caller in (NOBODY, Filter(tenant="acme"), Filter(principals=frozenset({"boss", "staff"}))):
        embedded.clear()
        asks(catalog, caller)
        assert (REQUEST,) in embedded, f"{caller} finds what the boss asked"
        embedded.clear()
        asks(catalog, caller)
        assert (REQUEST,) not in embedded, "their own is remembered"


def test_scores_of_one_caller_are_computed_again_for_another(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = CrossEncoder.score

    def score(self: CrossEncoder, query: str, texts: Any) -> Any:
        read.append(len(texts))
        return plain(self, query, texts)

    monkeypatch.setattr(CrossEncoder, "score", score)
    counts = []
    for caller in (BOSS, BOSS, NOBODY, NOBODY, Filter(tenant="acme"), BOSS):
        read.clear()
        catalog.search(REQUEST, filter=caller)
        counts.append(sum(read))
    first = counts[0]
    assert first > 0
    assert counts == [first, 0, first, 0, first, 0]
