"""What benchmarks of enrichment count: gains over none, and texts of each part."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.intents.written import Enrichment

enrichment = pytest.importorskip("enrichment")

ENTRY = Enrichment("a", "", "", 0.0, "kept", "says it", ("one", "two"), ("one", "says it"))


def test_gains_are_points_of_recall_over_none() -> None:
    rows = {
        "none": np.array([[0.5, 0.0], [0.0, 1.0]]),
        "sentences": np.array([[0.5, 1.0], [0.5, 1.0]]),
        "all": np.array([[1.0, 0.0], [0.25, 0.0]]),
    }
    assert enrichment.gains("x", rows, np.array([False, True])) == {
        "enrich_gain_x": 37.5,
        "enrich_gain_x_b": 25.0,
        "enrich_x_sentences": 25.0,
    }


def test_each_part_has_its_own_texts() -> None:
    left = {
        part.name: [text for text in ENTRY.kept if enrichment.is_of(part, ENTRY, text)]
        for part in enrichment.PARTS
    }
    assert left["none"] == []
    assert left["all"] == ["one", "says it"]
    assert left["sentences"] == ["says it"]
    assert left["requests"] == left["requests, by words"] == ["one"]
