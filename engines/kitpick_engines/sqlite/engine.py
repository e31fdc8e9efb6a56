"""The SQLite engine: exact vector search and BM25 in one process, for catalogs up to about 150,000 APIs.

The catalog is one file and a folder `FILE.vectors` beside it. All reads of one call happen in one read
transaction, so they are of one committed state, also while another thread or process is writing. A session
becomes visible at its commit: `kill -9` at any moment leaves the state before or after it.

Searches score only what the filter shows, with statistics of only that: ids, counts, scores and order of a
result are those of a catalog without the documents that are invisible to who asks.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import (
    Candidate,
    Candidates,
    Filter,
    IndexedDocument,
    IndexSchema,
    IndexStats,
    Place,
    RestrictedDocument,
    SearchRequest,
    Vector,
    checked_vector,
)
from kitpick_engines.document import ApiDocument, decode_document
from kitpick_engines.errors import CorruptStore, UnknownIndex
from kitpick_engines.lexical import bm25f, request_terms
from kitpick_engines.sentences import searches_of, with_sentences
from kitpick_engines.sqlite import tables
from kitpick_engines.sqlite.connections import ConnectionPool, translated, unreadable
from kitpick_engines.sqlite.matrix import Matrix, MatrixGone, best, nearest, remove_matrix, remove_orphans
from kitpick_engines.sqlite.tables import select_in
from kitpick_engines.sqlite.view import (
    LatestView,
    View,
    found_together,
    read_candidates,
    read_documents,
)
from kitpick_engines.sqlite.writer import SqliteSettings, SqliteWriter
from kitpick_foundation.disk import DISK, Disk
from kitpick_foundation.fork_gate import FORKS_WAIT

_SNAPSHOTS = 10
"""How often a reader takes a newer snapshot because the matrix of the one it had was just replaced."""


Opened = TypeVar("Opened")
T = TypeVar("T")

_NO_TEXT = "typeof(source) <> 'text'"
"""Rows of no source: they are read to be refused."""
_RESTRICTED = {"id": str, "tenant": str, "source": str, "public": int}
_PLACED = {"id": str, "slot": int, "checksum": int}
_HASHED = {"hash": str, "source": str, **_PLACED}


class Snapshot(NamedTuple):
    """The live index in one read transaction."""

    connection: sqlite3.Connection
    view: View


class SqliteEngine:
    """An `Engine` over one SQLite file, for any number of threads. Only `ensure` creates the file."""

    def __init__(
        self,
        path: Path,
        settings: SqliteSettings = SqliteSettings(),  # noqa: B008 - frozen
        disk: Disk = DISK,
    ) -> None:
        """Checks the file if it exists.

        Raises:
            CorruptStore: the file is damaged or is no catalog.
            OtherFormat: it was written by another version.
            EngineUnavailable: it cannot be opened.
        """
        path = path.resolve()  # one catalog, one URL, one folder of vectors: by whatever name it is opened
        self.url = f"sqlite:{path}"
        self._path = path
        self._folder = path.with_name(path.name + ".vectors")
        self._settings = settings
        self._disk = disk
        self._weights = np.array(msgspec.structs.astuple(settings.weights), dtype=np.float64)
        self._connections = ConnectionPool(path, settings.busy_seconds, disk)
        self._latest = LatestView()
        self.live()

    @FORKS_WAIT
    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""
        with self._connections.reading() as connection:
            index = tables.live_index(connection) if connection else None
        return (index.name, index.schema) if index else None

    @FORKS_WAIT
    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index for this schema: the live one, or one built beside it (resumed if begun)."""
        now = self.live()
        if now and now[1] == schema:
            return now[0]
        self._refuse_lone_vectors()
        with self._connections.writing(create=True) as connection, translated(self._path):
            live = tables.live_index(connection)
            if live and live.schema == schema:
                return live.name
            begun = [index for index in tables.all_indexes(connection) if index.schema == schema]
            index = begun[0] if begun else tables.create_index(connection, schema)
            if live is None:
                tables.set_live(connection, index)
            tables.advance(connection)
            return index.name

    @FORKS_WAIT
    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others."""
        with self._connections.writing() as connection, translated(self._path):
            chosen = tables.index_named(connection, index)
            tables.set_live(connection, chosen)
            dropped = [other for other in tables.all_indexes(connection) if other.number != chosen.number]
            for other in dropped:
                tables.drop_index(connection, other)
            tables.advance(connection)
        for other in dropped:
            remove_matrix(self._disk, self._folder / other.matrix)

    @contextmanager
    def writing(self, index: str) -> Iterator[SqliteWriter]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        Other writers wait for it, `busy_seconds` at most; readers do not.

        Raises:
            UnknownIndex: there is no index of this name.
            EngineUnavailable: another session does not end, or the file cannot be written.
        """
        with self._connections.writing() as connection:
            with FORKS_WAIT, translated(self._path):
                chosen = tables.index_named(connection, index)
                remove_orphans(
                    self._disk, self._folder, [each.matrix for each in tables.all_indexes(connection)]
                )
                writer = SqliteWriter(connection, chosen, self._folder, self._disk)
            try:
                yield writer
                writer.finish(self._settings)
            finally:
                writer.close()
        for name in writer.replaced:
            remove_matrix(self._disk, self._folder / name)

    def hashes(self, index: str, source: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, or of all, ordered by id.

        The hash is empty where the document's vector is lost.
        """
        statement = (
            f"SELECT {', '.join(_HASHED)} FROM docs_# "  # noqa: S608 - names of columns
            f"WHERE :source IS NULL OR source = :source OR {_NO_TEXT} ORDER BY id"
        )
        return self._with_vectors(index, statement, {"source": source}, _hash_of)

    def restricted(self, index: str, source: str) -> Iterator[RestrictedDocument]:
        """The restricted documents of a source, ordered by id."""
        statement = (
            f"SELECT {', '.join(_RESTRICTED)} FROM docs_# "  # noqa: S608 - names of columns
            f"WHERE (source = ? OR {_NO_TEXT}) AND (tenant IS NOT '' OR public IS NOT 1) ORDER BY id"
        )
        with self._connections.reading() as reading:
            with FORKS_WAIT:
                connection, chosen = _existing(reading, index)
                rows = connection.execute(chosen.sql(statement), (source,))
            for row in FORKS_WAIT.one_by_one(rows):
                tables.refuse_other_types("docs", _RESTRICTED, row)
                yield RestrictedDocument(row[0], row[1], not row[3])

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id, of one committed state, streamed."""
        statement = (
            f"SELECT {', '.join(_PLACED)}, document FROM docs_# LEFT JOIN bodies_# USING (row) ORDER BY id"  # noqa: S608
        )
        return self._with_vectors(index, statement, {}, _indexed)

    def _with_vectors(
        self, name: str, statement: str, values: Mapping[str, Any], read: Callable[[Sequence[Any], Matrix], T]
    ) -> Iterator[T]:
        """What `read` makes of each row of an index and of its vectors."""

        def open_(reading: sqlite3.Connection | None, last: bool) -> tuple[sqlite3.Cursor, Matrix]:
            connection, index = _existing(reading, name)
            file = self._folder / index.matrix
            matrix = Matrix(file, index.slots, index.schema.dimensions, may_be_missing=last)
            return connection.execute(index.sql(statement), values), matrix

        with self._reading(open_) as (_, (rows, matrix)):
            yield from FORKS_WAIT.one_by_one(read(row, matrix) for row in rows)

    def search(self, request: SearchRequest) -> Candidates:
        """Candidates of both rankings from one snapshot, best lexical or dense rank first, ties by id."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return Candidates()
            schema = snapshot.view.index.schema
            asked = searches_of(request.over(schema))
            dense = self._dense(snapshot, asked)
            lexical = [self._lexical(snapshot, each) for each in asked]
            rankings = list(zip(lexical, dense, strict=True))
            found = with_sentences(found_together(*snapshot, rankings))
            return Candidates(found, schema, _lost(snapshot, request.filter))

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """All visible APIs of these tools (keys), ordered by id, at most `limit`, without places."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            mask = snapshot.view.visible(snapshot.connection, filter).mask
            positions = np.flatnonzero(mask & snapshot.view.of_tools(tools))[: max(limit, 0)]
            return read_candidates(snapshot.connection, snapshot.view, positions.tolist())

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """The k visible documents of largest inner product with a vector of any length, best first."""
        return self.search(SearchRequest("", vector, k, filter))

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Whole documents in the order of `ids`; unknown and forbidden ones are left out."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            mask = snapshot.view.visible(snapshot.connection, filter).mask
            return read_documents(snapshot.connection, snapshot.view, ids, mask)

    @FORKS_WAIT
    def stats(self) -> IndexStats | None:
        """Statistics of the live index, None before the first one. `bytes` counts all its files."""
        with self._connections.reading() as connection:
            index = tables.live_index(connection) if connection else None
            if connection is None or index is None:
                return None
            statement = index.sql("SELECT source, count(*) FROM docs_# GROUP BY source ORDER BY source")
            by_source = dict(connection.execute(statement).fetchall())
            for source in by_source:
                tables.refuse_other_types("docs", {"source": str}, [source])
            changed = tables.changed(connection)
        documents = sum(by_source.values())
        return IndexStats(index.name, index.schema, documents, by_source, self._bytes(), changed)

    def damaged(self) -> dict[str, int]:
        """Number of documents of the live index whose vector is lost, by source; empty if none is.

        Rows that were found whole once are not read again while the engine is open.

        Raises:
            CorruptStore: there is no file of vectors at all.
        """
        with self._snapshot() as snapshot:
            return {} if snapshot is None else _lost(snapshot)

    @FORKS_WAIT
    def close(self) -> None:
        """Releases files and connections; every commit is then in the file itself, not in a log beside it."""
        self._connections.close()

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot | None]:
        """The live index, None before the first one."""
        with FORKS_WAIT, self._reading(lambda connection, _: self._view(connection)) as (connection, view):
            yield Snapshot(connection, view) if connection and view else None

    @contextmanager
    def _reading(
        self, open_: Callable[[sqlite3.Connection | None, bool], Opened]
    ) -> Iterator[tuple[sqlite3.Connection | None, Opened]]:
        """A read transaction with the result of `open_`; a newer one if the matrix file was replaced.

        `open_` receives whether this is the last attempt: a file still missing then is lost, not replaced.
        """
        for attempts_left in reversed(range(_SNAPSHOTS)):
            with self._connections.reading() as connection:
                try:
                    with FORKS_WAIT:
                        opened = open_(connection, attempts_left == 0)
                except MatrixGone:
                    continue
                yield connection, opened
                return
        raise CorruptStore(
            f"{self._folder}: the vectors of this catalog are missing, {self._path.name} is only half of it: "
            "put the folder back beside it; or move the file away, and copy a backup to its place or ingest "
            "again, which embeds everything anew"
        )

    def _refuse_lone_vectors(self) -> None:
        """Refuses to make a catalog beside the vectors of one whose file is missing."""
        missing = not self._path.exists() or self._path.stat().st_size == 0
        if missing and any(self._folder.glob("*.f32")):
            raise CorruptStore(
                f"{self._folder} holds vectors of a catalog, but {self._path.name} is not there: "
                "put the file back beside the folder, or remove the folder to begin a new catalog"
            )

    def _bytes(self) -> int:
        size = 0
        log = self._path.with_name(self._path.name + "-wal")
        for file in (self._path, log, *self._folder.glob("*.f32")):
            with suppress(FileNotFoundError):  # a session may just have ended
                size += file.stat().st_size
        return size

    def _view(self, connection: sqlite3.Connection | None) -> View | None:
        index = tables.live_index(connection) if connection else None
        if connection is None or index is None:
            return None
        generation = tables.generation(connection)

        def build(before: View | None) -> View:
            return View(connection, index, self._folder, self._weights, before)

        try:
            return self._latest.get(generation, build)
        except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
            raise unreadable(self._path, error) from error

    def _lexical(self, snapshot: Snapshot, request: SearchRequest) -> dict[int, Place]:
        connection, view = snapshot
        terms = request_terms(connection, request.text, named=request.named)
        held = (view.term_scores(connection, term, request.filter) for term in terms)
        scores = bm25f(held, len(view.rows))
        found = np.flatnonzero(scores)
        chosen = found[best(scores[found], request.size)]
        return _places(chosen, scores[chosen])

    def _dense(self, snapshot: Snapshot, asked: Sequence[SearchRequest]) -> list[dict[int, Place]]:
        """The dense places of searches with one filter; the vectors of the catalog are read once for all."""
        connection, view = snapshot
        size = view.index.schema.dimensions
        queries = {
            number: checked_vector(each.vector, size)
            for number, each in enumerate(asked)
            if each.vector is not None
        }
        places: list[dict[int, Place]] = [{} for _ in asked]
        if not queries:
            return places
        allowed = np.flatnonzero(view.visible(connection, asked[0].filter).mask & view.searchable)
        wanted = [asked[number].size for number in queries]
        slots, vectors = view.slots[allowed], list(queries.values())
        found = nearest(view.matrix.rows, slots, vectors, wanted, view.index.longest)
        for number, (chosen, scores) in zip(queries, found, strict=True):
            places[number] = _places(allowed[chosen], scores)
        return places


def _hash_of(row: Sequence[Any], matrix: Matrix) -> tuple[str, str]:
    """Id and content hash of a document, the hash empty where the vector is lost."""
    tables.refuse_other_types("docs", _HASHED, row)
    held, _, key, slot, checksum = row
    return key, held if matrix.is_whole(slot, checksum) else ""


def _indexed(row: Sequence[Any], matrix: Matrix) -> IndexedDocument:
    """A document with its vector, zeros where that is lost."""
    tables.refuse_other_types("docs", _PLACED, row[:3])
    _, slot, checksum, document = row
    if document is None:
        raise tables.StrangeValue("bodies.document", "nothing")
    return IndexedDocument(decode_document(document), matrix.vector(slot, checksum))


def _existing(connection: sqlite3.Connection | None, name: str) -> tuple[sqlite3.Connection, tables.IndexRow]:
    if connection is None:
        raise UnknownIndex(name)
    return connection, tables.index_named(connection, name)


def _places(positions: NDArray[np.intp], scores: NDArray[np.float64]) -> dict[int, Place]:
    pairs = zip(positions.tolist(), scores.tolist(), strict=True)
    return {position: Place(rank, score) for rank, (position, score) in enumerate(pairs, 1)}


def _lost(snapshot: Snapshot, shown: Filter | None = None) -> dict[str, int]:
    """Number of documents whose vector is lost, by source: of all, or of those that a filter shows."""
    if snapshot.view.searchable.all():
        return {}
    lost = ~snapshot.view.searchable
    if shown is not None:
        lost &= snapshot.view.visible(snapshot.connection, shown).mask
    statement = snapshot.view.index.sql("SELECT source FROM docs_# WHERE row IN")
    rows = snapshot.view.rows[lost].tolist()
    sources = [source for (source,) in select_in(snapshot.connection, statement, rows)]
    return dict(sorted(Counter(sources).items()))
