"""A small catalog whose every document can be named in a test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_training.data.records import LabelledCatalog, LabelledRequest

THINGS = ("user", "invoice", "playlist", "forecast", "parcel", "recipe")
VERBS = ("list", "create", "delete", "update")


@pytest.fixture
def catalog() -> LabelledCatalog:
    """Twelve providers with one tool each; two APIs of the same provider never say the same."""
    documents, requests = {}, []
    for provider in range(12):
        for verb in VERBS:
            thing = THINGS[provider % len(THINGS)]
            document = ApiDocument(
                id=f"{provider}/{verb}",
                source="test",
                category=thing,
                tool=f"Provider {provider}",
                api=f"{verb}_{thing}",
                description=f"Will {verb} one {thing} of provider number {provider}.",
                parameters=(Parameter("page_size"),),
            )
            documents[document.id] = document
            requests.append(LabelledRequest(f"{verb} a {thing}", (document.id,), form="clause"))
    groups = {i: d.tool for i, d in documents.items()}
    titles = {i: d.api for i, d in documents.items()}
    return LabelledCatalog("openapi", "test", documents, groups, titles, tuple(requests))


@pytest.fixture
def encode():
    """Unit vectors of letter counts: cheap, deterministic, and alike for like texts."""

    def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array(
            [[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts], np.float32
        )
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)

    return vectors
