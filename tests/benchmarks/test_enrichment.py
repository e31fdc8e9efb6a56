"""What benchmarks of enrichment count: gains over none, texts of each part, and what could be had at most."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.intents.written import Enrichment

enrichment = pytest.importorskip("enrichment")
limits = pytest.importorskip("enrichment_limits")

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


def test_a_real_request_is_never_compared_with_itself() -> None:
    vectors = np.eye(4, dtype=np.float32)
    relevant = tuple(frozenset(each) for each in ((0,), (0,), (0, 1), (2,)))
    asked = limits.Asked(
        ("a", "b", "c"), ("", "", ""), ("",) * 4, relevant, vectors[0] > 0, vectors, np.zeros((4, 3))
    )
    for most in (1, 2, 4):
        nearest = limits.real(asked, most)
        assert nearest[:3, 0].max() == 0.0, "of those that need it, each is compared with others only"
        assert nearest[3, 0] == 0.0
        assert np.allclose(nearest[:, 1:], nearest[:, :1]), "nobody else needs these"


def test_recall_counts_the_first_five_by_score() -> None:
    scores = np.array([[9.0, 8, 7, 6, 5, 4], [1, 2, 3, 4, 5, 6]])
    assert limits.recall(scores, (frozenset({0, 5}), frozenset({1}))).tolist() == [0.5, 1.0]
    assert limits.by_places(scores)[0, 0] == 1.0
    assert limits.spread(scores).mean(axis=1).round(9).tolist() == [0.0, 0.0]


def test_a_request_is_read_by_clauses() -> None:
    said = "I fly to Rome, and need a hotel near the station. Also the weather there?"
    assert limits.clauses_of(said) == [
        "I fly to Rome",
        "need a hotel near the station",
        "Also the weather there?",
    ]
    assert limits.clauses_of("go now") == ["go now"]
