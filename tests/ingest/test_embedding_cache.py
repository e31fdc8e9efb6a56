"""The cache of vectors: it remembers, it stays small, and nothing that happens to its file is an error."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_ingest.embedder import EmbeddingCache, cache_key


def key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def vector(number: int, dimensions: int = 4) -> np.ndarray:
    return np.full(dimensions, number, np.float32)


def numbers(cache: EmbeddingCache, among: range, dimensions: int = 4) -> set[int]:
    """Which of these vectors the cache knows."""
    return {int(found[0]) for found in cache.get([key(number) for number in among], dimensions).values()}


def test_vectors_come_back_bit_by_bit_also_from_another_process(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache.db")
    kept = np.array([0.1, -1e-30, 3e30, -0.0], np.float32)
    cache.put({key(1): kept})
    other = EmbeddingCache(tmp_path / "cache.db")

    found = other.get([key(1), key(2)], 4)

    assert list(found) == [key(1)]
    assert found[key(1)].tobytes() == kept.tobytes()


def test_thousands_are_found_at_once(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache.db")
    cache.put({key(number): vector(number) for number in range(2_000)})

    assert numbers(cache, range(3_000)) == set(range(2_000))


def test_keys_tell_model_template_and_text_apart() -> None:
    parts = [("m", 1, "text"), ("m", 2, "text"), ("n", 1, "text"), ("m", 1, "Text"), ("m:1", 1, "text")]

    assert len({cache_key(*part) for part in parts}) == len(parts)


@given(
    st.lists(st.tuples(st.text(max_size=4), st.integers(0, 20), st.text(max_size=4)), min_size=2, unique=True)
)
def test_no_two_inputs_share_a_key(parts: list[tuple[str, int, str]]) -> None:
    assert len({cache_key(*part) for part in parts}) == len(parts)


@pytest.mark.parametrize("stored", [vector(1, 3), np.array([1, np.nan, 0, 0], np.float32)])
def test_a_vector_of_another_length_or_with_nan_is_not_found(tmp_path: Path, stored: np.ndarray) -> None:
    cache = EmbeddingCache(tmp_path / "cache.db")
    cache.put({key(1): stored})

    assert cache.get([key(1)], 4) == {}


def test_the_least_recently_used_go_when_the_file_is_full(tmp_path: Path) -> None:
    today = [0.0]
    cache = EmbeddingCache(tmp_path / "cache.db", max_bytes=1_000_000, clock=lambda: 86_400 * today[0])
    for day in range(3):
        today[0] = day
        numbers(cache, range(50), 384)  # the first day's are asked for again on every other day
        cache.put({key(100 * day + n): vector(100 * day + n, 384) for n in range(100)})
    today[0] = 3
    for number in range(300, 500):
        numbers(cache, range(50), 384)
        cache.put({key(number): vector(number, 384)})

    kept = numbers(cache, range(500), 384)
    assert set(range(50)) <= kept
    assert kept.isdisjoint(range(50, 100))
    assert 499 in kept
    assert (tmp_path / "cache.db").stat().st_size < 1_500_000


@pytest.mark.parametrize("damage", [b"", b"no database" * 500, None])
def test_a_damaged_file_is_moved_aside_and_begun_anew(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "cache.db"
    cache = EmbeddingCache(path)
    cache.put({key(number): vector(number, 384) for number in range(300)})
    cache.close()
    if damage is None:  # pages in the middle
        whole = path.read_bytes()
        damage = whole[:8192] + b"\xff" * 200_000 + whole[208_192:]
    path.write_bytes(damage)

    cache = EmbeddingCache(path)
    cache.get([key(number) for number in range(300)], 384)
    cache.put({key(1): vector(1, 384)})

    assert numbers(cache, range(2), 384) == {1}
    assert cache.note == "" if damage == b"" else "begun anew" in cache.note
    assert (tmp_path / "cache.db.damaged").exists() == (damage != b"")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE vectors (something TEXT)")
    database.close()

    cache = EmbeddingCache(path)
    cache.put({key(1): vector(1)})

    assert "no embedding cache" in cache.note
    assert numbers(cache, range(2)) == set()


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_means_no_cache(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache.db")
    cache.put({key(number): vector(number, 384) for number in range(2_000)})

    assert "no embedding cache" in cache.note
    assert numbers(cache, range(2_000), 384) == set()


def test_threads_may_share_it(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "cache.db")

    def work(first: int) -> None:
        for number in range(first, first + 50):
            cache.put({key(number): vector(number)})
            assert numbers(cache, range(number, number + 1)) == {number}

    threads = [threading.Thread(target=work, args=(first,)) for first in range(0, 200, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert numbers(cache, range(200)) == set(range(200))
    assert cache.note == ""


@pytest.mark.parametrize("value", [None, 7, 0.5, "x", b"x", b"12345"])
@pytest.mark.parametrize("column", ["key", "used", "vector"])
def test_a_value_of_another_type_is_not_found_and_written_anew(
    tmp_path: Path, column: str, value: object
) -> None:
    path = tmp_path / "cache.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE vectors (key, used, vector)")
        connection.execute("CREATE UNIQUE INDEX one ON vectors (key)")
        connection.execute("INSERT INTO vectors VALUES (?, ?, ?)", (key(1), 1, vector(1).tobytes()))
        connection.execute(f"UPDATE vectors SET {column} = ?", (value,))
    cache = EmbeddingCache(path)

    assert numbers(cache, range(3)) == ({1} if column == "used" else set())
    cache.put({key(1): vector(1)})
    assert numbers(cache, range(3)) == {1}
    assert cache.note == ""
