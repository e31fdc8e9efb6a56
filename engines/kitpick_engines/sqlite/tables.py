"""The tables of a catalog file, their version, and the state that names the live index.

`docs_N` holds one short row per document (what filters and syncs read), `bodies_N` what only results need,
`principals_N` who may see a document that is not public, `words_N` the lexical index, `entries_N` a way to
read its postings. N is the index number;
an index built beside the live one has another N, so that a swap is one small transaction.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from kitpick_engines.contract import IndexSchema
from kitpick_engines.document import Effect
from kitpick_engines.errors import CorruptStore, OtherFormat, UnknownIndex
from kitpick_engines.lexical import FIELDS, TOKENIZER
from kitpick_engines.text import has_utf8
from kitpick_foundation.decoding import decoder_of

APPLICATION_ID = 0x746F6F6C
"""`tool` in ASCII: tells a catalog from any other SQLite file."""
FORMAT = 2
"""Version of this layout. A file with another one is refused."""
_SCHEMA = decoder_of(IndexSchema)
_MATRIX = re.compile(r"[0-9]{1,18}-[0-9]{1,18}\.f32")
"""Names of vector files. Whatever else stands in a database that a stranger made would lead elsewhere."""
EFFECTS = frozenset(effect.value for effect in Effect)

_CATALOG = """
CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  live INTEGER,
  generation INTEGER NOT NULL,
  changed REAL
);
INSERT INTO state VALUES (1, NULL, 0, NULL);
CREATE TABLE indexes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  schema BLOB NOT NULL,
  matrix TEXT NOT NULL,
  slots INTEGER NOT NULL,
  longest REAL NOT NULL
);
"""
_INDEX = """
CREATE TABLE docs_# (
  row INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  hash TEXT NOT NULL,
  slot INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  category TEXT NOT NULL,
  tool_key TEXT NOT NULL,
  effect TEXT NOT NULL,
  deprecated INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  public INTEGER NOT NULL,
  lengths BLOB NOT NULL
);
CREATE TABLE bodies_# (row INTEGER PRIMARY KEY, tool TEXT NOT NULL, api TEXT NOT NULL, text TEXT NOT NULL,
  document BLOB NOT NULL, chains BLOB NOT NULL DEFAULT x'');
CREATE TABLE principals_# (principal TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (principal, row))
  WITHOUT ROWID;
CREATE INDEX principals_of_row_# ON principals_# (row);
CREATE VIRTUAL TABLE words_# USING fts5 (api, tool, category, description, parameters, examples,
  tokenize = '%TOKENIZER');
CREATE VIRTUAL TABLE entries_# USING fts5vocab (words_#, instance);
""".replace("%TOKENIZER", TOKENIZER)
_INDEXES = """
SELECT number, name, schema, matrix, slots, longest,
  (SELECT count(*) FROM pragma_table_info('bodies_' || number) WHERE pragma_table_info.name = 'chains')
FROM indexes ORDER BY number
"""
_COLUMN_TYPES = "SELECT name, lower(type) FROM pragma_table_info(?)"
_TYPED = ("docs_#", "bodies_#", "principals_#")
_OF_INDEX = {"number": int, "name": str, "schema": bytes, "matrix": str, "slots": int, "longest": float}
_CURE = "kitpick did not write this"
_DROP = ";\n".join(f"DROP TABLE {name}_#" for name in ("entries", "words", "principals", "bodies", "docs"))


class StrangeValue(ValueError):
    """A value that kitpick does not write where it stands: a stranger made the database, or it is damaged."""

    def __init__(self, place: str, found: object) -> None:
        super().__init__(f"{place} holds {str(found)[:100]!r}: {_CURE}")


class IndexRow(NamedTuple):
    """One row of `indexes`: name, schema and vector file of an index."""

    number: int
    name: str
    schema: IndexSchema
    matrix: str
    """File name inside the vectors folder."""
    slots: int
    """Rows of the matrix that are committed; what the file holds beyond them is left over."""
    longest: float
    """Upper bound of the vectors' Euclidean lengths."""
    chained: bool
    """Whether bodies hold chains: those of indexes from before there were any do not."""

    def sql(self, statement: str) -> str:
        """The statement with `#` replaced by the number of this index."""
        return statement.replace("#", str(self.number))


def is_catalog(connection: sqlite3.Connection) -> bool:
    """False for a file without any table.

    Raises:
        OtherFormat: written by another version.
        CorruptStore: a SQLite database of something else.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        _refuse_other_format(int(version), _file_of(connection))
        _refuse_programs(connection)
        return True
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        return False
    what = "a SQLite database, but not a kitpick catalog: choose another path"
    raise CorruptStore(f"{_file_of(connection)}: {what}")


def _file_of(connection: sqlite3.Connection) -> str:
    """The path of the database, also where its bytes are no text."""
    (file,) = connection.execute("SELECT CAST(file AS BLOB) FROM pragma_database_list").fetchone()
    return os.fsdecode(file)


def _refuse_other_format(version: int, file: str) -> None:
    if version != FORMAT:
        cure = "upgrade kitpick" if version > FORMAT else "move it away and ingest its sources again"
        raise OtherFormat(f"{file}: the catalog has format {version}, this version reads {FORMAT}: {cure}")


def create_catalog(connection: sqlite3.Connection) -> None:
    """Creates the tables in an empty file, inside the caller's transaction."""
    _run(connection, _CATALOG)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create_index(connection: sqlite3.Connection, schema: IndexSchema) -> IndexRow:
    """A new, empty index for this schema."""
    (last,) = connection.execute("SELECT max(seq) FROM sqlite_sequence").fetchone()
    refuse_other_types("sqlite_sequence", {"seq": int}, [last or 0])
    number = (last or 0) + 1
    index = IndexRow(number, f"apis-{schema.fingerprint}-{number}", schema, f"{number}-1.f32", 0, 0.0, True)
    connection.execute(
        "INSERT INTO indexes VALUES (?, ?, ?, ?, ?, ?)",
        (number, index.name, msgspec.json.encode(schema), index.matrix, 0, 0.0),
    )
    _run(connection, index.sql(_INDEX))
    return index


def with_chains(connection: sqlite3.Connection, index: IndexRow) -> IndexRow:
    """The index with a column of chains, which earlier versions lack, in the caller's transaction."""
    if not index.chained:
        connection.execute(index.sql("ALTER TABLE bodies_# ADD COLUMN chains BLOB NOT NULL DEFAULT x''"))
    return index._replace(chained=True)


def drop_index(connection: sqlite3.Connection, index: IndexRow) -> None:
    """Removes an index and its tables; its matrix file is the caller's to remove after the commit."""
    _run(connection, index.sql(_DROP))
    connection.execute("DELETE FROM indexes WHERE number = ?", (index.number,))


def all_indexes(connection: sqlite3.Connection) -> list[IndexRow]:
    """Every index, oldest first.

    Raises:
        StrangeValue: kitpick did not write this.
    """
    return [_index_of(found) for found in connection.execute(_INDEXES)]


def _index_of(found: Sequence[Any]) -> IndexRow:
    """One index, checked: its number becomes part of statements, its file of a path, and the rest memory."""
    number, name, schema, matrix, slots, longest, chained = found
    refuse_other_types("indexes", _OF_INDEX, found[:6])
    decoded = _SCHEMA.decode(schema)
    if not _MATRIX.fullmatch(matrix):
        raise StrangeValue("indexes.matrix", matrix)
    if slots < 0:
        raise StrangeValue("indexes.slots", slots)
    if not 0 <= longest < math.inf:
        raise StrangeValue("indexes.longest", longest)
    return IndexRow(number, name, decoded, matrix, slots, longest, bool(chained))


def refuse_other_types(table: str, columns: Mapping[str, type], values: Iterable[object]) -> None:
    """Compares the values of a row with the types that kitpick writes: SQLite itself takes any.

    Raises:
        StrangeValue: names the column.
    """
    for (column, kind), value in zip(columns.items(), values, strict=True):
        if type(value) is not kind:
            raise StrangeValue(f"{table}.{column}", value)


def _refuse_programs(connection: sqlite3.Connection) -> None:
    """Refuses a database with views or triggers: statements of a stranger, which others would run."""
    row = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
    if row is not None:
        raise CorruptStore(f"the file has a view or trigger, {str(row[0])[:100]!r}: kitpick did not write it")


def refuse_strange_values(connection: sqlite3.Connection) -> None:
    """Reads everything, and compares it with what kitpick writes.

    Raises:
        StrangeValue: names the first value of another type, or an effect that there is not.
    """
    live_index(connection)
    generation(connection)
    changed(connection)
    columns = _columns()
    for index in all_indexes(connection):
        for table, name, wrong in columns:
            if name == "chains" and not index.chained:
                continue
            statement = index.sql(f"SELECT {name} FROM {table} WHERE {wrong} LIMIT 1")  # noqa: S608 - ours
            if (found := connection.execute(statement).fetchone()) is not None:
                raise StrangeValue(f"{index.sql(table)}.{name}", found[0])


def _columns() -> list[tuple[str, str, str]]:
    """Table, column and condition for values that kitpick does not write, for each column of an index."""
    with closing(sqlite3.connect(":memory:")) as pattern:
        create_catalog(pattern)
        made = create_index(pattern, IndexSchema("", 1, 0))
        typed = [
            (table, name, f"typeof({name}) <> '{kind}'")
            for table in _TYPED
            for name, kind in pattern.execute(_COLUMN_TYPES, (made.sql(table),))
        ]
    effects = ", ".join(f"'{effect}'" for effect in sorted(EFFECTS))
    words = [("words_#", name, f"typeof({name}) <> 'text'") for name in FIELDS]
    return [*typed, ("docs_#", "effect", f"effect NOT IN ({effects})"), *words]


def index_named(connection: sqlite3.Connection, name: str) -> IndexRow:
    """The index of this name.

    Raises:
        UnknownIndex: there is none.
    """
    for index in all_indexes(connection):
        if index.name == name:
            return index
    raise UnknownIndex(name)


def live_index(connection: sqlite3.Connection) -> IndexRow | None:
    """The index that searches read, None before the first one."""
    live = _state(connection, "live")
    indexes = all_indexes(connection)
    if live is None and not indexes:
        return None
    refuse_other_types("state", {"live": int}, [live])
    for index in indexes:
        if index.number == live:
            return index
    raise StrangeValue("state.live", f"{live}, an index that is not there")


def generation(connection: sqlite3.Connection) -> int:
    """Counter of committed changes: equal numbers mean an equal catalog."""
    number = _state(connection, "generation")
    refuse_other_types("state", {"generation": int}, [number])
    return int(number)


def advance(connection: sqlite3.Connection) -> None:
    """Increments the counter of changes and notes the time, in the transaction that makes the change."""
    generation(connection)
    changed(connection)
    if not _notes_time(connection):
        connection.execute("ALTER TABLE state ADD COLUMN changed REAL")
    connection.execute(
        "UPDATE state SET generation = generation + 1, changed = max(coalesce(changed, 0), ?)", (time.time(),)
    )


def changed(connection: sqlite3.Connection) -> float | None:
    """When the last change was committed, in seconds since 1970; None if no version noted that so far."""
    if not _notes_time(connection):
        return None
    at = _state(connection, "changed")
    refuse_other_types("state", {"changed": float}, [0.0 if at is None else at])
    return None if at is None else float(at)


def _state(connection: sqlite3.Connection, column: str) -> Any:  # noqa: ANN401 - checked by who asks
    row = connection.execute(f"SELECT {column} FROM state").fetchone()  # noqa: S608 - a column of ours
    if row is None:
        raise StrangeValue("state", "nothing")
    return row[0]


def _notes_time(connection: sqlite3.Connection) -> bool:
    """Whether the state has a column for the time, which earlier versions lack."""
    columns = connection.execute("SELECT 1 FROM pragma_table_info('state') WHERE name = 'changed'")
    return columns.fetchone() is not None


def set_live(connection: sqlite3.Connection, index: IndexRow) -> None:
    """Makes an index the live one."""
    connection.execute("UPDATE state SET live = ?", (index.number,))


def _run(connection: sqlite3.Connection, script: str) -> None:
    """Runs several statements; `executescript` would commit first."""
    for statement in script.split(";\n"):
        connection.execute(statement)


_VARIABLES = 500
"""Values bound at once; old builds of SQLite take 999."""


def select_in(
    connection: sqlite3.Connection, statement: str, values: Iterable[str | int]
) -> Iterator[tuple[Any, ...]]:
    """Rows of `statement (?, ?, …)` for all values, in no order. The statement ends with `IN`."""
    storable = [value for value in values if not isinstance(value, str) or has_utf8(value)]
    for start in range(0, len(storable), _VARIABLES):
        chunk = storable[start : start + _VARIABLES]
        yield from connection.execute(f"{statement} ({','.join('?' * len(chunk))})", chunk)
