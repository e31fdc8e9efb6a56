"""A value of a type that kitpick does not write, in any cell, is named with the cure, or nothing changes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from catalogs import OTHER_SCHEMA, fill, item, unit
from sizes import LARGE

from kitpick_engines.contract import Candidates, Filter, SearchRequest
from kitpick_engines.document import Effect
from kitpick_engines.errors import CorruptStore
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings
from kitpick_foundation.errors import KitpickError

SHOWN = Filter(tenant="acme", principals=frozenset({"ann"}))
REQUEST = SearchRequest("weather", unit(1, 0.5), 9, SHOWN)
IDS = [f"s/t/{number}" for number in range(6)]
VALUES = (None, 7, 0.5, "x", b"x")
"""One of each type of SQLite."""
ITEMS = [
    item(IDS[0], unit(1), description="weather of a city"),
    item(IDS[1], unit(1, 1), description="weather of a port", allowed=("ann",)),
    item(IDS[2], unit(0, 1), description="weather of a lake", tenant="acme"),
    item(IDS[3], unit(1, 2), description="weather of old", deprecated=True, effect=Effect.READ),
    item(IDS[4], unit(1, 3), description="set the weather", effect=Effect.WRITE, source="z"),
    item(IDS[5], unit(1, 0.5), description="weather of all", allowed=("ann", "bob"), tenant="acme"),
]
OURS = ("state", "indexes", "docs_1", "bodies_1", "principals_1", "vectors")
"""Tables that are made without their constraints, so that they hold whatever a stranger likes."""


def told(found: Candidates) -> list[object]:
    return [(c.id, c.text, c.effect, c.deprecated, c.lexical, c.dense, c.tool_key) for c in found]


def written(engine: SqliteEngine) -> object:
    fill(engine, [item("s/t/new", unit(1, 0.3), description="weather anew"), ITEMS[5]])
    with engine.writing(engine.live()[0]) as writer:
        writer.delete(IDS[:1])
    return told(engine.search(REQUEST))


def rebuilt(engine: SqliteEngine) -> object:
    index = fill(engine, ITEMS, OTHER_SCHEMA)
    engine.swap(index)
    return told(engine.search(REQUEST))


USES: dict[str, Callable[[SqliteEngine], object]] = {
    "live": SqliteEngine.live,
    "stats": lambda engine: engine.stats().by_source,
    "search": lambda engine: told(engine.search(REQUEST)),
    "tools": lambda engine: told(engine.apis_of_tools(["c/t"], SHOWN, 9)),
    "neighbours": lambda engine: told(engine.neighbours(unit(1), 9, SHOWN)),
    "fetch": lambda engine: engine.fetch(IDS, SHOWN),
    "documents": lambda engine: [(d.document, d.vector.tolist()) for d in engine.documents(engine.live()[0])],
    "hashes": lambda engine: [list(engine.hashes(engine.live()[0], of)) for of in (None, "s", "z")],
    "restricted": lambda engine: list(engine.restricted(engine.live()[0], "s")),
    "damaged": SqliteEngine.damaged,
}
CHANGES: dict[str, Callable[[SqliteEngine], object]] = {
    "write": written,
    "rebuild": rebuilt,
}


def columns(file: Path) -> list[tuple[str, str]]:
    """Every column of every table that a file keeps: of the full-text index, too."""
    with closing(sqlite3.connect(file)) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%' ORDER BY name"
        )
        return [
            (table, name)
            for (table,) in tables.fetchall()
            for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        ]


def put(file: Path, table: str, column: str, value: object) -> bool:
    """Puts a value into the last row of a column; False where it is of the type that was there."""
    with closing(sqlite3.connect(file)) as connection:
        last = "rowid = (SELECT max(rowid) FROM {0})".format
        if table in OURS:
            names = [name for of, name in columns(file) if of == table]
            connection.execute(f"CREATE TABLE bare ({', '.join(names)})")
            connection.execute(f"INSERT INTO bare SELECT * FROM {table}")
            connection.execute(f"DROP TABLE {table}")
            connection.execute(f"ALTER TABLE bare RENAME TO {table}")
        where = "1" if table in {"words_1_config", "words_1_idx"} else last(table)  # they have no rowid
        found = f"SELECT {column} FROM {table} WHERE {where} LIMIT 1"
        (before,) = connection.execute(found).fetchone()
        if type(before) is type(value):
            return False
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (value,))
        except sqlite3.IntegrityError:  # tables of the full-text index keep their constraints
            return False
        connection.commit()
    return True


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A catalog."""
    path = tmp_path_factory.mktemp("sound") / "tools.db"
    with closing(SqliteEngine(path)) as engine:
        fill(engine, ITEMS)
    return path


@pytest.fixture(scope="module")
def right(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    uses = [*({use: USES[use]} for use in USES), *({use: CHANGES[use]} for use in CHANGES)]
    answers = [asked(catalog_in(tmp_path_factory.mktemp("right"), sound), use) for use in uses]
    return {use: found for each in answers for use, found in each.items()}


def catalog_in(folder: Path, sound: Path) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / sound.name
    shutil.copy(sound, path)
    shutil.copytree(f"{sound}.vectors", f"{path}.vectors")
    return path


def asked(path: Path, uses: dict[str, Callable[[SqliteEngine], object]]) -> dict[str, object]:
    """What each use answers, or its error."""
    try:
        with closing(SqliteEngine(path, SqliteSettings(compact_from=1, compact_above=0.0))) as engine:
            return {use: answer(ask, engine) for use, ask in uses.items()}
    except KitpickError as error:
        return dict.fromkeys(uses, named(error))


def answer(ask: Callable[[SqliteEngine], object], engine: SqliteEngine) -> object:
    try:
        return ask(engine)
    except KitpickError as error:
        return named(error)


def named(error: KitpickError) -> KitpickError:
    """The error, which is of damage, and names its cure."""
    assert isinstance(error, CorruptStore), error
    assert "ingest again" in str(error) or "take another one" in str(error), error
    return error


def of_catalog() -> list[tuple[str, str]]:
    """Columns as they are in every catalog, without asking one before the tests start."""
    own = {
        "sqlite_sequence": "name seq",
        "state": "live generation changed",
        "indexes": "number name schema matrix slots longest",
        "docs_1": "row id source hash slot checksum category tool_key effect deprecated tenant public "
        "lengths",
        "bodies_1": "row tool api text document chains",
        "principals_1": "principal row",
    }
    words = {
        "words_1_config": "v",
        "words_1_content": "c0 c1 c2 c3 c4 c5",
        "words_1_data": "block",
        "words_1_docsize": "sz",
        "words_1_idx": "segid term pgno",
    }
    return [(table, name) for table, names in {**own, **words}.items() for name in names.split()]


def test_no_column_is_forgotten(sound: Path) -> None:
    keys = {("state", "one"), ("words_1_config", "k")}
    keys |= {(f"words_1_{table}", "id") for table in ("content", "data", "docsize")}
    assert sorted({*of_catalog(), *keys}) == sorted(columns(sound))


@pytest.mark.parametrize(("table", "column"), of_catalog())
def test_a_value_of_another_type_is_named_or_changes_nothing(
    table: str, column: str, sound: Path, right: dict[str, object], tmp_path: Path
) -> None:
    tried = 0
    turn = of_catalog().index((table, column))
    for value in VALUES[turn % 5 :] + VALUES[: turn % 5]:
        if tried and not LARGE:
            return
        (folder := tmp_path / str(value)).mkdir()
        path = catalog_in(folder, sound)
        if not put(path, table, column, value):
            continue
        found = asked(path, USES)
        for change in CHANGES if LARGE else [list(CHANGES)[turn % len(CHANGES)]]:
            found |= asked(catalog_in(folder / change, path), {change: CHANGES[change]})
        for use, seen in found.items():
            assert isinstance(seen, CorruptStore) or seen == right[use], (value, use)
        tried += 1
    assert tried
