"""Files that are no catalog, damaged ones, and those of another version."""

from __future__ import annotations

import gc
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from catalogs import SCHEMA, fill, item, unit

from kitpick_engines.contract import SearchRequest
from kitpick_engines.errors import CorruptStore, EngineUnavailable, OtherFormat, UnknownIndex
from kitpick_engines.sqlite import SqliteEngine


def test_nothing_is_created_before_the_first_index(tmp_path):
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        assert engine.search(SearchRequest("weather", None, 5)) == []
        with pytest.raises(EngineUnavailable, match="no catalog here"), engine.writing("apis"):
            pass
        with pytest.raises(UnknownIndex):
            list(engine.hashes("apis"))
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_a_new_catalog(tmp_path):
    path = tmp_path / "tools.db"
    path.touch()
    with closing(SqliteEngine(path)) as engine:
        assert engine.live() is None
        fill(engine, [item()])
        assert engine.stats().documents == 1


def test_a_catalog_is_found_again_after_closing(tmp_path):
    for _ in range(2):
        with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
            fill(engine, [item(description="weather")])
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        assert len(engine.search(SearchRequest("weather", unit(1), 5))) == 1


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be read as one" * 100, b"\0" * 5000]
)
def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "tools.db"
    path.write_bytes(content)
    with pytest.raises(CorruptStore, match=r"tools\.db"):
        SqliteEngine(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_refused(tmp_path):
    path = tmp_path / "tools.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(CorruptStore, match=r"tools\.db: .*not a kitpick catalog"):
        SqliteEngine(path)


def test_a_folder_in_place_of_a_catalog_is_called_so(tmp_path):
    with pytest.raises(EngineUnavailable, match="it is a folder: name the file of a catalog"):
        SqliteEngine(tmp_path)


def test_a_damaged_catalog_is_named_with_the_cure(tmp_path):
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item(f"s/t/{n}", description="weather " * 50) for n in range(200)])
    with closing(sqlite3.connect(path)) as connection:  # moves all into the main file
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CorruptStore, match="ingest again"):
        SqliteEngine(path)


def test_a_catalog_of_a_later_version_asks_for_an_upgrade(tmp_path):
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        engine.ensure(SCHEMA)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(OtherFormat, match=r"99.*upgrade"):
        SqliteEngine(path)


def test_a_catalog_from_before_changes_had_a_time_gets_one_with_the_next_change(tmp_path):
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, [item("s/t/a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE former AS SELECT one, live, generation FROM state")
        connection.execute("DROP TABLE state")
        connection.execute("ALTER TABLE former RENAME TO state")
    with closing(SqliteEngine(path)) as engine:
        assert engine.stats().changed is None
        fill(engine, [item("s/t/b")])
        assert engine.stats().changed > 0
        assert engine.stats().documents == 2


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    engine = SqliteEngine(tmp_path / "nowhere" / "tools.db")
    with closing(engine), pytest.raises(EngineUnavailable, match=r"nowhere.*folder"):
        engine.ensure(SCHEMA)


def test_a_folder_is_no_catalog(tmp_path):
    with pytest.raises(EngineUnavailable):
        SqliteEngine(tmp_path)


def test_a_closed_engine_says_so(tmp_path):
    engine = SqliteEngine(tmp_path / "tools.db")
    fill(engine, [item()])
    engine.close()
    engine.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        engine.stats()


def test_an_unfinished_stream_gives_its_connection_back(tmp_path):
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        index = fill(engine, [item("s/t/a"), item("s/t/b")])
        for _ in range(40):
            next(engine.hashes(index))
            next(engine.documents(index))
        gc.collect()
        fill(engine, [item("s/t/c")])
        assert engine.stats().documents == 3


def test_the_errors_of_a_callers_own_database_pass_through_a_session(tmp_path):
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        index = engine.ensure(SCHEMA)
        with pytest.raises(sqlite3.OperationalError, match="mine"), engine.writing(index):
            raise sqlite3.OperationalError("mine")
        with pytest.raises(FileNotFoundError), engine.writing(index):
            raise FileNotFoundError


@pytest.fixture
def frozen() -> Iterator[Path]:
    """A catalog of one document in a folder that the process cannot write to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "tools.db"
        with closing(SqliteEngine(path)) as engine:
            fill(engine, [item(description="weather")])
        for leftover in folder.glob("tools.db-*"):
            leftover.unlink()
        path.chmod(0o444)
        folder.chmod(0o555)
        superuser = os.geteuid() == 0
        if superuser:
            os.seteuid(65534)
        try:
            yield path
        finally:
            if superuser:
                os.seteuid(0)
            folder.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_a_catalog_in_a_read_only_folder_is_searched(frozen):
    with closing(SqliteEngine(frozen)) as engine:
        assert len(engine.search(SearchRequest("weather", unit(1), 5))) == 1
        assert engine.stats().documents == 1
    assert {file.name for file in frozen.parent.iterdir()} == {"tools.db", "tools.db.vectors"}


@contextmanager
def owning(path: Path) -> Iterator[None]:
    """The process is the owner, who may write."""
    superuser = os.getuid() == 0
    if superuser:
        os.seteuid(0)
    path.parent.chmod(0o755)
    path.chmod(0o644)
    try:
        yield
    finally:
        path.chmod(0o444)
        path.parent.chmod(0o555)
        if superuser:
            os.seteuid(65534)


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_what_the_owner_of_a_read_only_folder_writes_is_found_by_open_readers(frozen):
    with closing(SqliteEngine(frozen)) as engine:
        assert engine.stats().documents == 1
        for others in (range(1, 3), range(3, 400)):
            with owning(frozen), closing(SqliteEngine(frozen)) as owned:
                fill(owned, [item(f"s/t/{number}", description="weather") for number in others])
            assert engine.stats().documents == others.stop
            assert len(engine.search(SearchRequest("weather", unit(1), 500))) == others.stop


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_what_is_read_of_a_read_only_folder_while_its_owner_writes_is_refused(frozen):
    with closing(SqliteEngine(frozen)) as engine:
        index, _ = engine.live()
        documents = engine.documents(index)
        next(documents)
        with owning(frozen), closing(SqliteEngine(frozen)) as owned:
            fill(owned, [item("s/t/other", description="weather")])
        with pytest.raises(EngineUnavailable, match="ask again"):
            list(documents)
        assert len(list(engine.documents(index))) == 2


@pytest.mark.skipif(os.name != "posix", reason="limits of processes are those of POSIX here")
def test_a_catalog_on_a_full_disk_is_searched_until_there_is_room_to_write(tmp_path, monkeypatch):
    with closing(SqliteEngine(tmp_path / "tools.db")) as engine:
        index = fill(engine, [item(description="weather")])
    with ExitStack() as stack:
        with full(monkeypatch):
            engine = stack.enter_context(closing(SqliteEngine(tmp_path / "tools.db")))
            assert len(engine.search(SearchRequest("weather", unit(1), 5))) == 1
            with pytest.raises(EngineUnavailable, match="is full"), engine.writing(index) as writer:
                writer.delete(["s/t/a"])
        fill(engine, [item("s/t/other", description="weather")])
        assert len(engine.search(SearchRequest("weather", unit(1), 5))) == 2


@contextmanager
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file can grow, and no byte is free."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with monkeypatch.context() as patched:
        patched.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(os.name != "posix", reason="permissions of folders are those of POSIX here")
def test_a_read_only_catalog_cannot_be_written(frozen):
    with closing(SqliteEngine(frozen)) as engine:
        index = engine.ensure(SCHEMA)
        with pytest.raises(EngineUnavailable, match="read-only"), engine.writing(index):
            pass
