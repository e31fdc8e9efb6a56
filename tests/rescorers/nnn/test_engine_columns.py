"""Column generation over a real engine, by meaning alone and by meaning and words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Filter, IndexedDocument, IndexSchema, SearchRequest
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_rescorers.nnn import (
    ColumnSearch,
    Document,
    Hybrid,
    HybridSearch,
    InvalidProblem,
    Lexicon,
    NnnProblem,
    solve_active_set,
    solve_by_columns,
    solve_hybrid_by_columns,
)

TOPICS = ["weather", "currency", "flight", "hotel", "music", "translation", "calendar", "stock"]
ROWS = 400


class Library:
    """An engine, searched with one caller's permissions."""

    def __init__(self, engine: SqliteEngine) -> None:
        self.engine, self.asked = engine, []

    def neighbours(self, vector: np.ndarray, k: int) -> list[Document]:
        return self._documents(self.engine.neighbours(vector, k, Filter()))

    def matching(self, words: Sequence[str], k: int) -> list[Document]:
        self.asked.append(tuple(words))
        return self._documents(self.engine.search(SearchRequest(" ".join(words), None, k)) if words else [])

    def _documents(self, found: Sequence[Candidate]) -> list[Document]:
        return [Document(candidate.id, candidate.vector, candidate.text) for candidate in found]


@pytest.fixture
def vectors() -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((ROWS, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def library(tmp_path: Path, vectors: np.ndarray) -> Iterator[Library]:
    with closing(SqliteEngine(tmp_path / "catalog.db")) as engine:
        with engine.writing(engine.ensure(IndexSchema("test", 16, 1))) as writer:
            writer.write([IndexedDocument(api(i), vector) for i, vector in enumerate(vectors)])
        yield Library(engine)


def api(number: int) -> ApiDocument:
    topic = TOPICS[number % len(TOPICS)]
    words = f"{topic} number {number}"
    return ApiDocument(
        f"s/t/{number}", source="s", category="c", tool="t", api=f"do{number}", description=words
    )


def test_an_engine_is_all_that_a_search_needs(library: Library, vectors: np.ndarray) -> None:
    query = vectors[[3, 70, 200]].sum(axis=0).astype(float)

    def search(vector: np.ndarray, k: int) -> list[tuple[str, np.ndarray]]:
        return [(found.key, found.vector) for found in library.neighbours(vector, k)]

    answer = solve_by_columns(search, query, 0.3, 0.5, ColumnSearch(neighbours=16, max_rounds=20))
    whole = solve_active_set(NnnProblem(vectors, query, 0.3, 0.5))
    assert answer.complete
    assert set(answer.support) == {f"s/t/{row}" for row in whole.support}


def test_words_that_are_left_bring_what_no_vector_leads_to(library: Library, vectors: np.ndarray) -> None:
    """The query's vector knows of the weather only; its words ask for music too."""
    mixture = HybridSearch(l1=0.15, l2=0.1, dense_share=0.5, neighbours=8, max_rounds=6)
    answer = solve_hybrid_by_columns(library, "weather and music", vectors[0], mixture)
    topics = [TOPICS[int(str(key).rpartition("/")[2]) % len(TOPICS)] for key in answer.support]
    assert answer.support[0] == "s/t/0"
    assert {"weather", "music"} <= set(topics)
    assert library.asked[0] == ("weather", "music")
    assert answer.solution.certificate.exact


def test_the_answer_is_the_optimum_over_what_was_seen(library: Library, vectors: np.ndarray) -> None:
    mixture = HybridSearch(l1=0.15, l2=0.5, neighbours=16, max_rounds=30)
    answer = solve_hybrid_by_columns(library, "hotel flight", vectors[5], mixture)
    assert answer.complete
    lexicon = Lexicon.of([document.text for document in answer.documents], "hotel flight")
    rows = Hybrid.of([d.vector for d in answer.documents], vectors[5], lexicon, 0.5)
    again = solve_active_set(NnnProblem(rows.rows, rows.query, 0.15, 0.5))
    np.testing.assert_array_equal(again.support, answer.solution.support)


def test_one_round_claims_nothing(library: Library, vectors: np.ndarray) -> None:
    mixture = HybridSearch(l1=0.1, l2=0.1, neighbours=4, max_rounds=1)
    assert not solve_hybrid_by_columns(library, "hotel", vectors[5], mixture).complete
    assert len(library.asked) == 1


def test_an_index_without_anything_is_refused(tmp_path: Path) -> None:
    with (
        closing(SqliteEngine(tmp_path / "empty.db")) as engine,
        pytest.raises(InvalidProblem, match="nothing"),
    ):
        solve_hybrid_by_columns(Library(engine), "hotel", np.ones(16), HybridSearch(l1=0.1, l2=0.1))
