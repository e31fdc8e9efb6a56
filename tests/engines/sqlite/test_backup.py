"""A backup holds one committed state, whatever else goes on; a restore brings it back, or changes nothing."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from asking import generation, mixture
from catalogs import OTHER_SCHEMA, fill, item, unit

from kitpick_engines.contract import BackupEngine, Engine, Filter
from kitpick_engines.errors import (
    CatalogExists,
    CorruptStore,
    EngineUnavailable,
    NotABackup,
    OtherFormat,
    UnknownIndex,
)
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings

EAGER = SqliteSettings(compact_above=0.2, compact_from=30)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    with closing(SqliteEngine(tmp_path / "tools.db", EAGER)) as engine:
        yield engine


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteEngine]:
    with closing(SqliteEngine(tmp_path / "other.db", EAGER)) as engine:
        yield engine


def held(engine: Engine) -> list[tuple[str, str, bytes]]:
    live = engine.live()
    if live is None:
        return []
    found = engine.documents(live[0])
    return [(each.document.id, each.document.content_hash, each.vector.tobytes()) for each in found]


def number_of(engine: Engine) -> int:
    assert mixture(engine) == ""
    return int(engine.fetch(["s/t/00"], Filter())[0].api[1:])


def test_what_comes_back_is_what_was_backed_up(
    engine: SqliteEngine, other: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    fill(engine, [item("s/t/secret", unit(1, 2), allowed=("ann",), description="weather")])
    with engine.writing(engine.live()[0]) as writer:
        writer.delete(["s/t/03"])
    report = engine.backup(tmp_path / "kept")

    assert isinstance(engine, BackupEngine)
    assert (report.documents, report.damaged) == (20, 0)
    assert report.bytes == (tmp_path / "kept").stat().st_size
    assert other.restore(tmp_path / "kept").documents == 20
    assert held(other) == held(engine)
    assert other.live()[1] == engine.live()[1]
    assert other.damaged() == {}
    ann = Filter(principals=frozenset({"ann"}))
    assert [d.id for d in other.fetch(["s/t/secret"], Filter())] == []
    assert [d.id for d in other.fetch(["s/t/secret"], ann)] == ["s/t/secret"]


def test_a_backup_is_one_file_and_no_catalog(engine: SqliteEngine, tmp_path: Path) -> None:
    fill(engine, generation(1))
    folder = tmp_path / "backups"
    folder.mkdir()
    engine.backup(folder / "kept.db")
    assert [file.name for file in folder.iterdir()] == ["kept.db"]
    with pytest.raises(CorruptStore, match="kitpick catalog restore"):
        SqliteEngine(folder / "kept.db")


def test_backups_while_sessions_end_and_compact_are_each_of_one_state(
    engine: SqliteEngine, other: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    stop = threading.Event()

    def write() -> None:
        number = 1
        while not stop.is_set():
            number += 1
            fill(engine, generation(number))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = set()
        for _ in range(12):
            engine.backup(tmp_path / "kept")
            other.restore(tmp_path / "kept", replace=True)
            assert other.damaged() == {}
            seen.add(number_of(other))
    finally:
        stop.set()
        writer.join()
    assert len(seen) > 2, "the test saw no session end"


def test_a_restore_under_searches_shows_the_state_before_or_after(
    engine: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    engine.backup(tmp_path / "one")
    fill(engine, generation(2))
    engine.backup(tmp_path / "two")
    stop = threading.Event()

    def restore() -> None:
        while not stop.is_set():
            for name in ("one", "two"):
                engine.restore(tmp_path / name, replace=True)

    restorer = threading.Thread(target=restore)
    restorer.start()
    try:
        with closing(SqliteEngine(tmp_path / "tools.db")) as reader:
            seen = {number_of(reader) for _ in range(300)}
    finally:
        stop.set()
        restorer.join()
    assert seen == {1, 2}
    assert len(list((tmp_path / "tools.db.vectors").iterdir())) == 1


def test_a_catalog_with_documents_is_replaced_only_where_that_is_said(
    engine: SqliteEngine, other: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    engine.backup(tmp_path / "kept")
    fill(other, generation(2), OTHER_SCHEMA)
    with pytest.raises(CatalogExists, match="--replace"):
        other.restore(tmp_path / "kept")
    assert number_of(other) == 2
    other.restore(tmp_path / "kept", replace=True)
    assert number_of(other) == 1
    fill(other, generation(3))
    assert number_of(other) == 3


def test_an_empty_catalog_has_nothing_to_back_up(engine: SqliteEngine, tmp_path: Path) -> None:
    with pytest.raises(UnknownIndex, match="nothing to back up"):
        engine.backup(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_a_file_that_is_no_backup_is_never_written_over(engine: SqliteEngine, tmp_path: Path) -> None:
    fill(engine, generation(1))
    (tmp_path / "notes.txt").write_text("mine" * 100)
    for name, what in (("tools.db", "a catalog"), ("notes.txt", "not a backup")):
        kept = (tmp_path / name).read_bytes()
        with pytest.raises(NotABackup, match=what):
            engine.backup(tmp_path / name)
        assert (tmp_path / name).read_bytes() == kept
    assert not list(tmp_path.glob("*.part"))


def test_an_older_backup_is_replaced(engine: SqliteEngine, other: SqliteEngine, tmp_path: Path) -> None:
    for number in (1, 2):
        fill(engine, generation(number))
        engine.backup(tmp_path / "kept")
    other.restore(tmp_path / "kept")
    assert number_of(other) == 2


def test_what_cannot_be_restored_changes_nothing(
    engine: SqliteEngine, other: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    engine.backup(tmp_path / "kept")
    whole = (tmp_path / "kept").read_bytes()
    fill(other, generation(2))

    def refused(content: bytes | None, error: type[Exception], words: str) -> None:
        file = tmp_path / "spoilt"
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(error, match=words):
            other.restore(file, replace=True)
        assert number_of(other) == 2

    refused(None, NotABackup, "no such backup")
    refused(b"", NotABackup, "not a backup")
    refused(b"something else" * 1000, NotABackup, "not a backup")
    refused((tmp_path / "tools.db").read_bytes(), NotABackup, "is a catalog")
    refused(whole[: len(whole) // 2], CorruptStore, "damaged")
    refused(whole[:4096] + b"\xa5" * (len(whole) - 4096), CorruptStore, "damaged")
    with closing(sqlite3.connect(tmp_path / "kept")) as connection:
        connection.execute("PRAGMA user_version = 99")
    refused((tmp_path / "kept").read_bytes(), OtherFormat, "upgrade")


def test_lost_vectors_are_counted_and_stay_lost(
    engine: SqliteEngine, other: SqliteEngine, tmp_path: Path
) -> None:
    fill(engine, generation(1))
    engine.close()
    (file,) = (tmp_path / "tools.db.vectors").iterdir()
    file.write_bytes(file.read_bytes()[:-33])
    with closing(SqliteEngine(tmp_path / "tools.db")) as damaged:
        assert damaged.backup(tmp_path / "kept").damaged == 3
    with closing(sqlite3.connect(tmp_path / "kept")) as connection:
        connection.execute("UPDATE vectors SET vector = zeroblob(length(vector)) WHERE row = 1")
        connection.commit()
    assert other.restore(tmp_path / "kept").damaged == 4
    assert other.damaged() == {"s": 4}


def test_a_restore_mends_a_catalog_whose_halves_were_lost(engine: SqliteEngine, tmp_path: Path) -> None:
    fill(engine, generation(1))
    engine.backup(tmp_path / "kept")
    engine.close()
    shutil.rmtree(tmp_path / "tools.db.vectors")
    with closing(SqliteEngine(tmp_path / "tools.db")) as without_vectors:
        without_vectors.restore(tmp_path / "kept", replace=True)
        assert number_of(without_vectors) == 1
    (tmp_path / "tools.db").unlink()
    with closing(SqliteEngine(tmp_path / "tools.db")) as without_file:
        without_file.restore(tmp_path / "kept")
        assert number_of(without_file) == 1


def test_a_folder_that_does_not_exist_is_named(engine: SqliteEngine, tmp_path: Path) -> None:
    fill(engine, generation(1))
    with pytest.raises(EngineUnavailable, match="nowhere"):
        engine.backup(tmp_path / "nowhere" / "kept")
