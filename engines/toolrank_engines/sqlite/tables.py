"""The tables of a catalog file, their version, and the state that names the live index.

`docs_N` holds one short row per document (what filters and syncs read), `bodies_N` what only results need,
`principals_N` who may see a document that is not public, `words_N` the lexical index, `entries_N` a way to
read its postings. N is the index number;
an index built beside the live one has another N, so that a swap is one small transaction.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import msgspec

from toolrank_engines.contract import IndexSchema
from toolrank_engines.errors import CorruptStore, NewerFormat, UnknownIndex
from toolrank_engines.lexical.words import TOKENIZER

APPLICATION_ID = 0x746F6F6C
"""`tool` in ASCII: tells a catalog from any other SQLite file."""
FORMAT = 1
"""Version of this layout. A file with a larger one is refused, a smaller one migrated or rebuilt."""

_CATALOG = """
CREATE TABLE state (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  live INTEGER,
  generation INTEGER NOT NULL
);
INSERT INTO state VALUES (1, NULL, 0);
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
  category TEXT NOT NULL,
  tool_key TEXT NOT NULL,
  effect TEXT NOT NULL,
  deprecated INTEGER NOT NULL,
  tenant TEXT NOT NULL,
  public INTEGER NOT NULL,
  lengths BLOB NOT NULL
);
CREATE TABLE bodies_# (row INTEGER PRIMARY KEY, tool TEXT NOT NULL, api TEXT NOT NULL, text TEXT NOT NULL,
  document BLOB NOT NULL);
CREATE TABLE principals_# (principal TEXT NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (principal, row))
  WITHOUT ROWID;
CREATE INDEX principals_of_row_# ON principals_# (row);
CREATE VIRTUAL TABLE words_# USING fts5 (api, tool, category, description, parameters, examples,
  tokenize = '%TOKENIZER');
CREATE VIRTUAL TABLE entries_# USING fts5vocab (words_#, instance);
""".replace("%TOKENIZER", TOKENIZER)
_DROP = ";\n".join(f"DROP TABLE {name}_#" for name in ("entries", "words", "principals", "bodies", "docs"))


class Index(NamedTuple):
    """One row of `indexes`: where an index keeps its things."""

    number: int
    name: str
    schema: IndexSchema
    matrix: str
    """File name inside the vectors folder."""
    slots: int
    """Rows of the matrix that are committed; what the file holds beyond them is left over."""
    longest: float
    """Upper bound of the vectors' Euclidean lengths."""

    def sql(self, statement: str) -> str:
        """The statement with `#` replaced by the number of this index."""
        return statement.replace("#", str(self.number))


def is_catalog(connection: sqlite3.Connection) -> bool:
    """False for a file without any table.

    Raises:
        NewerFormat: written by a later version.
        CorruptStore: a SQLite database of something else.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application == APPLICATION_ID:
        if version > FORMAT:
            raise NewerFormat(
                f"the catalog has format {version}, this version reads up to {FORMAT}: upgrade toolrank"
            )
        return True
    if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None:
        return False
    raise CorruptStore("the file is a SQLite database, but not a toolrank catalog: choose another path")


def create_catalog(connection: sqlite3.Connection) -> None:
    """Lays the tables of an empty file, inside the caller's transaction."""
    _run(connection, _CATALOG)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def create_index(connection: sqlite3.Connection, schema: IndexSchema) -> Index:
    """A new, empty index for this schema."""
    (number,) = connection.execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence").fetchone()
    index = Index(number, f"apis-{schema.fingerprint}-{number}", schema, f"{number}-1.f32", 0, 0.0)
    connection.execute(
        "INSERT INTO indexes VALUES (?, ?, ?, ?, ?, ?)",
        (number, index.name, msgspec.json.encode(schema), index.matrix, 0, 0.0),
    )
    _run(connection, index.sql(_INDEX))
    return index


def drop_index(connection: sqlite3.Connection, index: Index) -> None:
    """Removes an index and its tables; its matrix file is the caller's to remove after the commit."""
    _run(connection, index.sql(_DROP))
    connection.execute("DELETE FROM indexes WHERE number = ?", (index.number,))


def all_indexes(connection: sqlite3.Connection) -> list[Index]:
    """Every index, oldest first."""
    statement = "SELECT number, name, schema, matrix, slots, longest FROM indexes ORDER BY number"
    return [
        Index(number, name, msgspec.json.decode(schema, type=IndexSchema), *rest)
        for number, name, schema, *rest in connection.execute(statement)
    ]


def index_named(connection: sqlite3.Connection, name: str) -> Index:
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


def live_index(connection: sqlite3.Connection) -> Index | None:
    """The index that searches read, None before the first one."""
    (live,) = connection.execute("SELECT live FROM state").fetchone()
    return next((index for index in all_indexes(connection) if index.number == live), None)


def generation(connection: sqlite3.Connection) -> int:
    """Counter of committed changes: equal numbers mean an equal catalog."""
    (number,) = connection.execute("SELECT generation FROM state").fetchone()
    return int(number)


def advance(connection: sqlite3.Connection) -> None:
    """Counts a change, in the transaction that makes it."""
    connection.execute("UPDATE state SET generation = generation + 1")


def set_live(connection: sqlite3.Connection, index: Index) -> None:
    """Makes an index the live one."""
    connection.execute("UPDATE state SET live = ?", (index.number,))


def _run(connection: sqlite3.Connection, script: str) -> None:
    """`executescript` would commit first."""
    for statement in script.split(";\n"):
        connection.execute(statement)
