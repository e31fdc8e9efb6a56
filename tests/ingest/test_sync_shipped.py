"""A sync with the encoder that is shipped."""

from __future__ import annotations

import numpy as np
import pytest
from shops import Shop, api

from kitpick_engines.contract import SearchRequest
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_models.runtime import load_encoder


@pytest.mark.needs("weights", "onnxruntime")
def test_the_shipped_encoder_finds_an_api_by_its_meaning(shop: Shop) -> None:
    encoder = load_encoder()
    feed, walk = api("feed", "Gives food to an animal"), api("walk", "Takes a dog for a stroll")

    report = shop.sync(feed, walk, embedder=encoder)

    assert (report.embedded, shop.schema().model, shop.schema().dimensions) == (2, encoder.identity, 384)
    (query,) = encoder.encode(["my pet is hungry"])
    (hit,) = shop.engine.search(SearchRequest("", query, 1))
    assert hit.id == feed.id
    both = encoder.encode([retrieval_text(feed), rerank_text(feed)]).sum(axis=0)
    np.testing.assert_allclose(hit.vector, both / np.linalg.norm(both), atol=1e-6)
    assert shop.sync(feed, walk, embedder=encoder).embedded == 0
