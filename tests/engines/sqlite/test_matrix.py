"""The file of vectors: append-only, compacted when much of it is dead, cleaned of leftovers."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from asking import generation, ids, mixture
from catalogs import DIMENSIONS, OTHER_SCHEMA, fill, item, unit

from kitpick_engines.contract import Filter, SearchRequest
from kitpick_engines.errors import CorruptStore, InvalidVector
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings
from kitpick_engines.sqlite.view import View

EAGER = SqliteSettings(compact_above=0.3, compact_from=10)
ROW = DIMENSIONS * 4


@pytest.fixture
def engine(tmp_path):
    with closing(SqliteEngine(tmp_path / "tools.db", EAGER)) as engine:
        yield engine


def files(tmp_path: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in (tmp_path / "tools.db.vectors").iterdir()}


def test_replaced_rows_are_appended_and_the_old_ones_stay(engine, tmp_path):
    fill(engine, [item(f"s/t/{n}", unit(n + 1, 1)) for n in range(20)])
    fill(engine, [item("s/t/3", unit(-1))])
    assert files(tmp_path) == {"1-1.f32": 21 * ROW}
    assert ids(engine.neighbours(unit(-1), 1, Filter())) == ["s/t/3"]


def test_a_matrix_with_many_dead_rows_is_compacted(engine, tmp_path):
    written = [item(f"s/t/{n:02}", unit(n + 1, 1)) for n in range(40)]
    index = fill(engine, written)
    with engine.writing(index) as writer:
        writer.delete([each.document.id for each in written[::2]])
    assert files(tmp_path) == {"1-2.f32": 20 * ROW}
    kept = list(engine.documents(index))
    assert ids([each.document for each in kept]) == ids([each.document for each in written[1::2]])
    for each, before in zip(kept, written[1::2], strict=True):
        np.testing.assert_array_equal(each.vector, before.vector)


def test_a_compacted_matrix_is_written_and_compacted_again(engine, tmp_path):
    for number in range(6):
        fill(engine, generation(number))
        assert mixture(engine) == ""
    assert list(files(tmp_path).values()) == [20 * ROW]


def test_a_session_that_fails_after_writing_leaves_rows_the_next_one_overwrites(engine, tmp_path):
    index = fill(engine, [item("s/t/a", unit(1))])
    rows = [item("s/t/b", unit(0, 1)), item("s/t/c", unit(0, 0, 1))]
    with engine.writing(index) as writer, pytest.raises(InvalidVector):
        writer.write([*rows, item("s/t/bad", unit(1) * np.nan)])

    def fail_after(batch):
        with engine.writing(index) as writer:
            writer.write(batch)
            raise KeyError

    with pytest.raises(KeyError):
        fail_after(rows)
    fill(engine, [item("s/t/d", unit(0, 0, 0, 1))])
    assert files(tmp_path) == {"1-1.f32": 2 * ROW}
    assert ids(engine.neighbours(unit(0, 0, 0, 1), 1, Filter())) == ["s/t/d"]


def test_files_that_no_index_refers_to_are_removed_by_the_next_session(engine, tmp_path):
    fill(engine, [item()])
    (tmp_path / "tools.db.vectors" / "1-7.f32").write_bytes(b"left by a killed compaction")
    fill(engine, [item("s/t/b")])
    assert list(files(tmp_path)) == ["1-1.f32"]


def test_a_swap_removes_the_file_of_the_index_before(engine, tmp_path):
    fill(engine, [item()])
    engine.swap(fill(engine, [item()], OTHER_SCHEMA))
    assert list(files(tmp_path)) == ["2-1.f32"]


def test_a_lost_or_cut_file_of_vectors_is_named_with_the_cure(engine, tmp_path):
    fill(engine, [item()])
    file = tmp_path / "tools.db.vectors" / "1-1.f32"
    file.write_bytes(b"\0" * (ROW - 1))
    with pytest.raises(CorruptStore, match="ingest again"):
        engine.search(SearchRequest("", unit(1), 1))
    file.unlink()
    with pytest.raises(CorruptStore, match=r"tools\.db\.vectors.*ingest again"):
        engine.search(SearchRequest("", unit(1), 1))


def test_a_reader_whose_file_was_just_replaced_takes_a_newer_state(engine, tmp_path, monkeypatch):
    """The compaction falls exactly between the reader's snapshot and its look at the vectors."""
    fill(engine, generation(1))
    remaining = [2, 3]

    class LateView(View):
        def __init__(self, *state):
            if remaining:
                fill(engine, generation(remaining.pop(0)))
            super().__init__(*state)

    monkeypatch.setattr("kitpick_engines.sqlite.engine.View", LateView)
    with closing(SqliteEngine(tmp_path / "tools.db", EAGER)) as reader:
        assert mixture(reader) == ""
        assert reader.fetch(["s/t/00"], Filter())[0].api == "g3"


def test_a_batch_that_fails_half_way_is_undone_in_a_session_that_goes_on(engine, monkeypatch):
    def fail_on_second(document):
        if document.id == "s/t/2":
            raise MemoryError
        return ""

    index = fill(engine, [item("s/t/1", description="old")])
    with engine.writing(index) as writer:
        monkeypatch.setattr("kitpick_engines.sqlite.writer.rerank_text", fail_on_second)
        with pytest.raises(MemoryError):
            writer.write([item("s/t/1", description="new"), item("s/t/2")])
        writer.write([item("s/t/3")])
    assert [each.document.id for each in engine.documents(index)] == ["s/t/1", "s/t/3"]
    assert engine.fetch(["s/t/1"], Filter())[0].description == "old"
