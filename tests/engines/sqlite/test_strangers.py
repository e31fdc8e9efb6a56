"""A catalog that a stranger made leads to no other file, and runs nothing of theirs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from catalogs import fill, item, unit

from kitpick_engines.contract import Filter, SearchRequest
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
@pytest.mark.parametrize("use", [SqliteEngine.stats, write])
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


FAR = 2**62
ROWS = (
    "UPDATE docs_1 SET row = {0} WHERE row = 3; UPDATE bodies_1 SET row = {0} WHERE row = 3; "
    "UPDATE words_1 SET rowid = {0} WHERE rowid = 3; UPDATE principals_1 SET row = {0} WHERE row = 3;"
)
REQUEST = SearchRequest("weather", unit(1, 0.5), 5, Filter(principals=frozenset({"p"})))


@pytest.mark.parametrize("row", [4, 2**33, 2**39])
def test_numbers_of_rows_that_are_far_apart_change_nothing(path: Path, precious: Path, row: int) -> None:
    """A table with a place for each would take 64 GiB, and 4 TiB."""
    with closing(SqliteEngine(path)) as engine:
        before = engine.search(REQUEST)
    spoil(path, ROWS.format(row), precious)
    with closing(SqliteEngine(path)) as engine:
        after = engine.search(REQUEST)
    places = [[(each.id, each.lexical, each.dense) for each in found] for found in (before, after)]
    assert len(places[0]) == 3
    assert places[0] == places[1]


STRANGE = {
    "a row that no catalog has": ROWS.format(FAR),
    "a row below the first": ROWS.format(-5),
    "a text that is missing": "DELETE FROM bodies_1 WHERE row = 2",
    "a number in place of a text": "UPDATE bodies_1 SET document = 7",
    "a number in place of chains": "UPDATE bodies_1 SET chains = 7",
    "a word in place of a slot": "UPDATE docs_1 SET slot = 'x'",
    "lengths that are too short": "UPDATE docs_1 SET lengths = x'00'",
    "as many dimensions as memory has bytes": (
        "UPDATE indexes SET schema = CAST(replace(schema, ':4,', ':4000000000,') AS BLOB)"
    ),
    "no live index": "UPDATE state SET live = NULL",
    "a live index that is not there": "UPDATE state SET live = 9",
    "no state": "DELETE FROM state",
    "fewer slots than none": "UPDATE indexes SET slots = -1",
    "vectors without end": "UPDATE indexes SET longest = 9e999",
    "an effect that there is not": "UPDATE docs_1 SET effect = 'harmless'",
    "no permissions": "DROP TABLE principals_1",
    "a text that is none": "UPDATE docs_1 SET tenant = CAST(x'ff' AS TEXT)",
    "no dimensions": "UPDATE indexes SET schema = CAST(replace(schema, ':4,', ':0,') AS BLOB)",
}


@pytest.mark.parametrize("what", STRANGE)
def test_values_that_kitpick_does_not_write_are_damage(path: Path, precious: Path, what: str) -> None:
    spoil(path, STRANGE[what], precious)

    def used() -> None:
        with closing(SqliteEngine(path)) as engine:
            engine.search(REQUEST)
            engine.fetch([f"s/t/{number}" for number in range(3)], Filter())

    with pytest.raises(CorruptStore, match="damaged"):
        used()


def test_words_and_permissions_of_no_document_show_none(path: Path, precious: Path) -> None:
    """A row that is not there stands for nothing: not for the last one, and for no error."""
    private = item("s/u/private", unit(1), description="weather", allowed=("somebody else",))
    with closing(SqliteEngine(path)) as engine:
        fill(engine, [private])
    words = "INSERT INTO words_1 (rowid, description) VALUES ({0}, 'weather');"
    permissions = "INSERT INTO principals_1 VALUES ('p', {0});"
    for row in (0, -1, 5, 2**33, FAR):
        spoil(path, (words + permissions).format(row), precious)
    with closing(SqliteEngine(path)) as engine:
        assert {each.id for each in engine.search(REQUEST)} == {f"s/t/{number}" for number in range(3)}


def test_more_slots_than_there_are_vectors_cost_no_memory(path: Path, precious: Path) -> None:
    spoil(path, f"UPDATE indexes SET slots = {FAR}", precious)
    with closing(SqliteEngine(path)) as engine:
        assert len(engine.search(REQUEST)) == 3
