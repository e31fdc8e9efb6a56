"""What is remembered is what was computed, and nothing is computed twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from battery.stores import LogitFile, RememberingEncoder, RememberingScorer
from numpy.typing import NDArray

from kitpick_ingest.embedder import EmbeddingCache


class CountingEncoder:
    """Unit vectors that tell texts apart."""

    dimensions = 3

    def __init__(self, identity: str = "counting@1") -> None:
        self.identity = identity
        self.asked: list[list[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        rows = np.array([[len(text), 1, 0] for text in texts], np.float32)
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


class CountingScorer:
    """A logit is the length of the text, with the model's own sign."""

    def __init__(self, identity: str = "scorer@1", sign: int = 1) -> None:
        self.identity = identity
        self.manifest = self
        self.thresholds: dict[str, float] = {}
        self.sign = sign
        self.asked: list[list[str]] = []

    def is_seen(self, tool_key: str) -> bool:
        return False

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(list(texts))
        return np.array([self.sign * len(text) for text in texts], np.float32)

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.clip(logits, 0, 1)


@pytest.fixture
def cache(tmp_path: Path):
    opened = EmbeddingCache(tmp_path / "vectors.db")
    yield opened
    opened.close()


@pytest.fixture
def logits(tmp_path: Path):
    opened = LogitFile(tmp_path / "logits.db")
    yield opened
    opened.close()


def test_a_request_is_embedded_once(cache: EmbeddingCache) -> None:
    encoder = CountingEncoder()
    first = RememberingEncoder(encoder, cache).encode(["a", "bb", "a"])
    again = RememberingEncoder(encoder, cache).encode(["bb", "ccc", "a"])
    assert encoder.asked == [["a", "bb"], ["ccc"]]
    assert np.array_equal(again[[2, 0]], first[:2])
    assert again.shape == (3, 3)


def test_no_texts_are_no_vectors(cache: EmbeddingCache) -> None:
    assert RememberingEncoder(CountingEncoder(), cache).encode([]).shape == (0, 3)


def test_another_encoder_has_vectors_of_its_own(cache: EmbeddingCache) -> None:
    RememberingEncoder(CountingEncoder(), cache).encode(["a"])
    other = CountingEncoder("counting@2")
    RememberingEncoder(other, cache).encode(["a"])
    assert other.asked == [["a"]]


def test_a_pair_is_read_once(logits: LogitFile) -> None:
    scorer = CountingScorer()
    remembering = RememberingScorer(scorer, logits)
    assert remembering.score("q", ["a", "bb", "a"]).tolist() == [1, 2, 1]
    assert remembering.score("q", ["ccc", "bb"]).tolist() == [3, 2]
    assert scorer.asked == [["a", "bb"], ["ccc"]]
    assert remembering.read == 3


def test_request_model_and_text_each_make_another_pair(logits: LogitFile) -> None:
    scorer = CountingScorer()
    RememberingScorer(scorer, logits).score("q", ["a"])
    RememberingScorer(scorer, logits).score("qa", [""])  # the same letters, divided otherwise
    assert len(scorer.asked) == 2
    other = CountingScorer("scorer@2", sign=-1)
    assert RememberingScorer(other, logits).score("q", ["a"]).tolist() == [-1]


def test_logits_outlive_the_process(tmp_path: Path) -> None:
    first = LogitFile(tmp_path / "folder" / "logits.db")
    first.put({b"k": 1.25})
    first.close()
    again = LogitFile(tmp_path / "folder" / "logits.db")
    assert again.get([b"k", b"other"]) == {b"k": 1.25}
    again.close()


def test_more_keys_than_a_query_may_have(logits: LogitFile) -> None:
    many = {number.to_bytes(4, "big"): float(number) for number in range(1_201)}
    logits.put(many)
    assert logits.get(list(many)) == many
