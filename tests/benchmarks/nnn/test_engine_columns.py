"""Column generation over a real engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from nnn.columns import ColumnSearch, solve_by_columns

from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_rescorers.nnn import NnnProblem, solve_active_set

TOPICS = ["weather", "currency", "flight", "hotel", "music", "translation", "calendar", "stock"]
ROWS = 400


@pytest.fixture
def vectors() -> np.ndarray:
    rows = np.random.default_rng(0).standard_normal((ROWS, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def engine(tmp_path: Path, vectors: np.ndarray) -> Iterator[SqliteEngine]:
    with closing(SqliteEngine(tmp_path / "catalog.db")) as engine:
        with engine.writing(engine.ensure(IndexSchema("test", 16, 1))) as writer:
            writer.write([IndexedDocument(api(i), vector) for i, vector in enumerate(vectors)])
        yield engine


def api(number: int) -> ApiDocument:
    topic = TOPICS[number % len(TOPICS)]
    words = f"{topic} number {number}"
    return ApiDocument(
        f"s/t/{number}", source="s", category="c", tool="t", api=f"do{number}", description=words
    )


def test_an_engine_is_all_that_a_search_needs(engine: SqliteEngine, vectors: np.ndarray) -> None:
    query = vectors[[3, 70, 200]].sum(axis=0).astype(float)

    def search(vector: np.ndarray, k: int) -> list[tuple[str, np.ndarray]]:
        return [(found.id, found.vector) for found in engine.neighbours(vector, k, Filter())]

    answer = solve_by_columns(search, query, 0.3, 0.5, ColumnSearch(neighbours=16, max_rounds=20))
    whole = solve_active_set(NnnProblem(vectors, query, 0.3, 0.5))
    assert answer.complete
    assert set(answer.support) == {f"s/t/{row}" for row in whole.support}
