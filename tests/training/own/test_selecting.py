"""Demonstrations for a question: the nearest are proposed, then one is picked after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kitpick_training.own.demorank import Demonstration, DemonstrationRetriever, DemonstrationSelector

POOL = [Demonstration(f"about {topic}", "a", True, topic) for topic in ("rain", "rain again", "mail", "song")]


def encode(texts: Sequence[str]) -> Any:
    """One dimension a topic."""
    rows = [[text.count(topic) for topic in ("rain", "mail", "song")] for text in texts]
    vectors = np.array(rows, np.float32) + 0.01
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Complementing:
    """Likes rain best, and what it was not shown yet above all."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def score(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        shown = query.partition("||")[2]
        fresh = [not any(topic in shown and topic in text for topic in ("rain", "mail")) for text in texts]
        return np.array([2.0 * new + ("rain" in text) for new, text in zip(fresh, texts, strict=True)])


@pytest.fixture
def reranker() -> Complementing:
    return Complementing()


@pytest.fixture
def selector(reranker: Complementing) -> DemonstrationSelector:
    return DemonstrationSelector(DemonstrationRetriever(POOL, encode), reranker)


def test_the_nearest_are_proposed_equal_ones_as_they_stand_in_the_pool() -> None:
    retriever = DemonstrationRetriever(POOL, encode)
    assert retriever.retrieve("rain today", "rain", 2) == [0, 1]
    assert retriever.retrieve("mail me", "mail", 1) == [2]
    assert sorted(retriever.retrieve("x", "y", 99)) == [0, 1, 2, 3]


def test_each_is_picked_in_view_of_those_before_it(selector, reranker) -> None:
    chosen = selector.choose("rain and mail", "rain mail", 2, 3)
    assert [item.text for item in chosen] == ["rain", "mail"]
    (first, offered), (second, left) = reranker.asked
    assert first == "rain and mail | rain mail"
    assert second == "rain and mail | rain mail || about rain | rain | Yes"
    assert (len(offered), len(left)) == (3, 2)


@pytest.mark.parametrize(("shots", "retrieved", "expected"), [(1, 4, 1), (8, 4, 4), (3, 1, 1)])
def test_no_more_than_there_are_and_none_twice(selector, shots: int, retrieved: int, expected: int) -> None:
    chosen = selector.choose("rain", "rain", shots, retrieved)
    assert len({item.query for item in chosen}) == len(chosen) == expected
