"""A catalog or backup that a stranger made leads to no other file, and runs nothing of theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from catalogs import fill, item, unit

from kitpick_engines.errors import CorruptStore
from kitpick_engines.sqlite import SqliteEngine

PRECIOUS = b"nobody may read, change or remove this" * 1_000
ENDLESS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
PROGRAMS = {
    "an endless view": f"ALTER TABLE bodies_1 RENAME TO hidden; CREATE VIEW bodies_1 AS {ENDLESS}",
    "a trigger": "CREATE TRIGGER t AFTER INSERT ON docs_1 BEGIN DELETE FROM docs_1; END",
    "a path": "UPDATE indexes SET matrix = '../precious'",
    "an absolute path": "UPDATE indexes SET matrix = '{precious}'",
    "a path that looks like a name": "UPDATE indexes SET matrix = '1-1.f32/../../1-1.f32'",
    "bytes in place of a name": "UPDATE indexes SET matrix = CAST(matrix AS BLOB)",
    "a statement in place of a number": (
        "CREATE TABLE others AS SELECT * FROM indexes; DROP TABLE indexes; "
        "ALTER TABLE others RENAME TO indexes; "
        "UPDATE indexes SET number = '1 UNION SELECT 1'; UPDATE state SET live = '1 UNION SELECT 1'"
    ),
}


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    file = tmp_path / "precious"
    file.write_bytes(PRECIOUS)
    return file


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        write(engine)
    return path


def write(engine: SqliteEngine) -> None:
    fill(engine, [item(f"s/t/{number}", unit(1, number / 3), description="weather") for number in range(3)])


def spoil(file: Path, statements: str, precious: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(statements.replace("{precious}", str(precious)))


@pytest.mark.parametrize("what", PROGRAMS)
@pytest.mark.parametrize("use", [SqliteEngine.stats, write, lambda engine: engine.backup(Path("backup.db"))])
def test_a_catalog_of_a_stranger_is_refused(
    path: Path,
    precious: Path,
    what: str,
    use: Callable[[SqliteEngine], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(path.parent)
    spoil(path, PROGRAMS[what], precious)

    def used() -> None:
        with closing(SqliteEngine(path)) as engine:
            use(engine)

    with pytest.raises(CorruptStore, match="kitpick did not write"):
        used()
    assert precious.read_bytes() == PRECIOUS


@pytest.mark.parametrize("what", PROGRAMS)
def test_a_backup_of_a_stranger_is_refused(path: Path, precious: Path, what: str) -> None:
    backup = path.with_name("backup.db")
    with closing(SqliteEngine(path)) as engine:
        engine.backup(backup)
    spoil(backup, PROGRAMS[what], precious)
    with (
        closing(SqliteEngine(path.with_name("restored.db"))) as engine,
        pytest.raises(CorruptStore, match="kitpick did not write"),
    ):
        engine.restore(backup)
    assert precious.read_bytes() == PRECIOUS


def test_nothing_is_written_where_a_link_leads(path: Path, precious: Path) -> None:
    (vectors,) = path.with_name(f"{path.name}.vectors").iterdir()
    vectors.unlink()
    vectors.symlink_to(precious)

    def written() -> None:
        with closing(SqliteEngine(path)) as engine:
            fill(engine, [item("s/t/new", unit(1, 0.5), description="more")])

    with pytest.raises(CorruptStore, match="symbolic link"):
        written()
    assert precious.read_bytes() == PRECIOUS
