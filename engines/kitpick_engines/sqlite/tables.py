"""The tables of a catalog file, their version, and the state that names the live index.

`docs_N` holds one short row per document (what filters and syncs read), `bodies_N` what only results need,
`principals_N` who may see a document that is not public, `words_N` the lexical index, `entries_N` a way to
read its postings. N is the index number;
an index built beside the live one has another N, so that a swap is one small transaction.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any, NamedTuple

import msgspec

from kitpick_engines.contract import IndexSchema
from kitpick_engines.errors import CorruptStore, OtherFormat, UnknownIndex
from kitpick_engines.lexical import TOKENIZER
from kitpick_engines.text import has_utf8
from kitpick_foundation.decoding import decoder_of

APPLICATION_ID = 0x746F6F6C
"""`tool` in ASCII: tells a catalog from any other SQLite file."""
BACKUP_ID = 0x746F6F62
"""`toob`: a catalog with its vectors in one file, which `backup` made and only `restore` reads."""
FORMAT = 2
"""Version of this layout. A file with another one is refused."""
_SCHEMA = decoder_of(IndexSchema)
_MATRIX = re.compile(r"[0-9]{1,18}-[0-9]{1,18}\.f32")
"""Names of vector files. Whatever else stands in a database that a stranger made would lead elsewhere."""

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
_DROP = ";\n".join(f"DROP TABLE {name}_#" for name in ("entries", "words", "principals", "bodies", "docs"))


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
        CorruptStore: a SQLite database of something else, or a backup.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        refuse_other_format(int(version))
        refuse_programs(connection)
        return True
    if application == BACKUP_ID:
        raise CorruptStore(
            "the file is a backup, not a catalog: `kitpick catalog restore` makes a catalog of it"
        )
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        return False
    raise CorruptStore("the file is a SQLite database, but not a kitpick catalog: choose another path")


def refuse_other_format(version: int) -> None:
    """Refuses a layout that this version does not read.

    Raises:
        OtherFormat: says what to do.
    """
    if version != FORMAT:
        cure = "upgrade kitpick" if version > FORMAT else "move it away and ingest its sources again"
        raise OtherFormat(f"the catalog has format {version}, this version reads {FORMAT}: {cure}")


def create_catalog(connection: sqlite3.Connection) -> None:
    """Creates the tables in an empty file, inside the caller's transaction."""
    _run(connection, _CATALOG)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create_index(connection: sqlite3.Connection, schema: IndexSchema) -> IndexRow:
    """A new, empty index for this schema."""
    (number,) = connection.execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence").fetchone()
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
        CorruptStore: kitpick did not write this.
    """
    return [
        IndexRow(
            _number(number), name, _SCHEMA.decode(schema), _file_name(matrix), slots, longest, bool(chained)
        )
        for number, name, schema, matrix, slots, longest, chained in connection.execute(_INDEXES)
    ]


def _number(found: object) -> int:
    """The number of an index, which becomes part of statements."""
    if not isinstance(found, int):
        raise CorruptStore(f"an index has the number {str(found)[:100]!r}: kitpick did not write this file")
    return found


def _file_name(found: object) -> str:
    """The name of a vector file, which becomes part of a path that is read, written and removed."""
    if not isinstance(found, str) or not _MATRIX.fullmatch(found):
        raise CorruptStore(f"vectors are in {str(found)[:100]!r}: kitpick did not write this file")
    return found


def refuse_programs(connection: sqlite3.Connection) -> None:
    """Refuses a database with views or triggers: statements of a stranger, which others would run.

    Raises:
        CorruptStore: it has one.
    """
    row = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('view', 'trigger')").fetchone()
    if row is not None:
        raise CorruptStore(f"the file has a view or trigger, {str(row[0])[:100]!r}: kitpick did not write it")


def holds_its_types(connection: sqlite3.Connection) -> bool:
    """Whether every value is of the type that kitpick writes there: SQLite itself takes any."""
    with closing(sqlite3.connect(":memory:")) as pattern:
        create_catalog(pattern)
        made = create_index(pattern, IndexSchema("", 1, 0))
        columns = {table: pattern.execute(_COLUMN_TYPES, (made.sql(table),)).fetchall() for table in _TYPED}
    statements = (
        index.sql(f"SELECT 1 FROM {table} WHERE {_of_other_types(index, found)} LIMIT 1")  # noqa: S608 - ours
        for index in all_indexes(connection)
        for table, found in columns.items()
    )
    return all(connection.execute(statement).fetchone() is None for statement in statements)


def _of_other_types(index: IndexRow, columns: Iterable[tuple[str, str]]) -> str:
    there = (each for each in columns if index.chained or each[0] != "chains")
    return " OR ".join(f"typeof({name}) <> '{kind}'" for name, kind in there)


def index_named(connection: sqlite3.Connection, name: str) -> IndexRow:
    """The index of this name.

    Raises:
        UnknownIndex: there is none.
    """
    for index in all_indexes(connection):
        if index.name == name:
            return index
    raise unknown(name)


def unknown(name: str) -> UnknownIndex:
    """The error for a name that no index has."""
    return UnknownIndex(f"no index {name[:200]!r}: call ensure() for the name to write to")


def live_index(connection: sqlite3.Connection) -> IndexRow | None:
    """The index that searches read, None before the first one."""
    (live,) = connection.execute("SELECT live FROM state").fetchone()
    return next((index for index in all_indexes(connection) if index.number == live), None)


def generation(connection: sqlite3.Connection) -> int:
    """Counter of committed changes: equal numbers mean an equal catalog."""
    (number,) = connection.execute("SELECT generation FROM state").fetchone()
    return int(number)


def advance(connection: sqlite3.Connection) -> None:
    """Increments the counter of changes and notes the time, in the transaction that makes the change."""
    if not _notes_time(connection):
        connection.execute("ALTER TABLE state ADD COLUMN changed REAL")
    connection.execute(
        "UPDATE state SET generation = generation + 1, changed = max(coalesce(changed, 0), ?)", (time.time(),)
    )


def changed(connection: sqlite3.Connection) -> float | None:
    """When the last change was committed, in seconds since 1970; None if no version noted that so far."""
    if not _notes_time(connection):
        return None
    (at,) = connection.execute("SELECT changed FROM state").fetchone()
    return None if at is None else float(at)


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
