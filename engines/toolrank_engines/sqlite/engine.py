"""The SQLite engine: exact vector search and BM25 in one process, for catalogs up to about 150,000 APIs.

The catalog is one file and a folder `FILE.vectors` beside it; copy both, while nobody writes. All reads
of one call happen in one read transaction, so they are of one committed state, also while another thread
or process is writing. A session becomes visible at its commit: `kill -9` at any moment leaves the state
before or after it.

Searches score only what the filter shows, with statistics of only that: ids, counts, scores and order of a
result are those of a catalog without the documents that are invisible to who asks.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import (
    Candidate,
    Filter,
    IndexedDocument,
    IndexSchema,
    IndexStats,
    Place,
    SearchRequest,
    Vector,
)
from toolrank_engines.document import ApiDocument, decode_document
from toolrank_engines.errors import CorruptStore
from toolrank_engines.lexical.bm25 import bm25f
from toolrank_engines.lexical.words import request_terms
from toolrank_engines.sentences import searches_of, with_sentences
from toolrank_engines.sqlite import tables
from toolrank_engines.sqlite.candidates import found_together, read_candidates, read_documents
from toolrank_engines.sqlite.connections import Connections, translated
from toolrank_engines.sqlite.dense import nearest
from toolrank_engines.sqlite.matrix import MatrixGone, open_matrix, remove_matrix, remove_orphans
from toolrank_engines.sqlite.settings import SqliteSettings
from toolrank_engines.sqlite.top import best
from toolrank_engines.sqlite.view import LatestView, View
from toolrank_engines.sqlite.writer import SqliteWriter
from toolrank_engines.vectors import checked

_SNAPSHOTS = 10
"""How often a reader takes a newer snapshot because the matrix of the one it had was just replaced."""


Opened = TypeVar("Opened")


class Snapshot(NamedTuple):
    """The live index in one read transaction."""

    connection: sqlite3.Connection
    view: View


class SqliteEngine:
    """An `Engine` over one SQLite file, for any number of threads. Only `ensure` creates the file."""

    def __init__(self, path: Path, settings: SqliteSettings = SqliteSettings()) -> None:  # noqa: B008 - frozen
        """Checks a file that exists already.

        Raises:
            CorruptStore: the file is damaged or is no catalog.
            NewerFormat: it was written by a later version.
            EngineUnavailable: it cannot be opened.
        """
        path = path.resolve()  # one catalog, one URL, one folder of vectors: by whatever name it is opened
        self.url = f"sqlite:{path}"
        self._path = path
        self._folder = path.with_name(path.name + ".vectors")
        self._settings = settings
        self._weights = np.array(msgspec.structs.astuple(settings.weights), dtype=np.float64)
        self._connections = Connections(path, settings.busy_seconds)
        self._latest = LatestView()
        self.live()

    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""
        with self._connections.reading() as connection:
            index = tables.live_index(connection) if connection else None
        return (index.name, index.schema) if index else None

    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index for this schema: the live one, or one built beside it (resumed if begun)."""
        now = self.live()
        if now and now[1] == schema:
            return now[0]
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

    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        with self._connections.writing() as connection, translated(self._path):
            chosen = tables.index_named(connection, index)
            tables.set_live(connection, chosen)
            dropped = [other for other in tables.all_indexes(connection) if other.number != chosen.number]
            for other in dropped:
                tables.drop_index(connection, other)
            tables.advance(connection)
        for other in dropped:
            remove_matrix(self._folder / other.matrix)

    @contextmanager
    def writing(self, index: str) -> Iterator[SqliteWriter]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        Other writers wait for it, `busy_seconds` at most; readers do not.

        Raises:
            UnknownIndex: there is no index of this name.
            EngineUnavailable: another session does not end, or the file cannot be written.
        """
        with self._connections.writing() as connection:
            with translated(self._path):
                chosen = tables.index_named(connection, index)
                remove_orphans(self._folder, [each.matrix for each in tables.all_indexes(connection)])
                writer = SqliteWriter(connection, chosen, self._folder)
            try:
                yield writer
                writer.finish(self._settings)
            finally:
                writer.close()
        for name in writer.replaced:
            remove_matrix(self._folder / name)

    def hashes(self, index: str, source: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, or of all, ordered by id.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        with self._connections.reading() as connection:
            if connection is None:
                raise tables.unknown(index)
            chosen = tables.index_named(connection, index)
            statement = "SELECT id, hash FROM docs_# WHERE :source IS NULL OR source = :source ORDER BY id"
            yield from connection.execute(chosen.sql(statement), {"source": source})

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id, of one committed state, streamed.

        Raises:
            UnknownIndex: there is no index of this name.
        """
        with self._reading(lambda connection: self._rows_of(connection, index)) as (_, rows):
            yield from rows

    def search(self, request: SearchRequest) -> list[Candidate]:
        """Candidates of both rankings from one snapshot, best lexical or dense rank first, ties by id.

        Raises:
            InvalidVector: the query vector has the wrong length or is not finite.
        """
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            return with_sentences([self._found(snapshot, each) for each in searches_of(request)])

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """All visible APIs of these tools (keys), ordered by id, at most `limit`, without places."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            mask = snapshot.view.visible(snapshot.connection, filter).mask
            positions = np.flatnonzero(mask & snapshot.view.of_tools(tools))[: max(limit, 0)]
            return read_candidates(snapshot.connection, snapshot.view, positions.tolist())

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """The k visible documents of largest inner product with a vector of any length, best first.

        Raises:
            InvalidVector: the vector has the wrong length or is not finite.
        """
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            places = self._dense(snapshot, vector, k, filter)
            return found_together(snapshot.connection, snapshot.view, {}, places)

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Whole documents in the order of `ids`; unknown and forbidden ones are left out."""
        with self._snapshot() as snapshot:
            if snapshot is None:
                return []
            mask = snapshot.view.visible(snapshot.connection, filter).mask
            return read_documents(snapshot.connection, snapshot.view, ids, mask)

    def stats(self) -> IndexStats | None:
        """What the live index holds, None before the first one. `bytes` counts all its files."""
        with self._connections.reading() as connection:
            index = tables.live_index(connection) if connection else None
            if connection is None or index is None:
                return None
            statement = index.sql("SELECT source, count(*) FROM docs_# GROUP BY source ORDER BY source")
            by_source = dict(connection.execute(statement).fetchall())
        return IndexStats(index.name, index.schema, sum(by_source.values()), by_source, self._bytes())

    def close(self) -> None:
        """Releases files and connections."""
        self._connections.close()

    @contextmanager
    def _snapshot(self) -> Iterator[Snapshot | None]:
        """The live index, None before the first one."""
        with self._reading(self._view) as (connection, view):
            yield Snapshot(connection, view) if connection and view else None

    @contextmanager
    def _reading(
        self, open_: Callable[[sqlite3.Connection | None], Opened]
    ) -> Iterator[tuple[sqlite3.Connection | None, Opened]]:
        """A read transaction and what `open_` makes of it, again in a newer one where the matrix is gone."""
        for _ in range(_SNAPSHOTS):
            with self._connections.reading() as connection:
                try:
                    opened = open_(connection)
                except MatrixGone:
                    continue
                yield connection, opened
                return
        raise CorruptStore(f"{self._folder}: the vectors of this catalog are missing; ingest again")

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
        return self._latest.get(generation, lambda: View(connection, index, self._folder))

    def _rows_of(self, connection: sqlite3.Connection | None, name: str) -> Iterator[IndexedDocument]:
        if connection is None:
            raise tables.unknown(name)
        index = tables.index_named(connection, name)
        matrix = open_matrix(self._folder / index.matrix, index.slots, index.schema.dimensions)
        statement = "SELECT document, slot FROM docs_# JOIN bodies_# USING (row) ORDER BY id"
        rows = connection.execute(index.sql(statement))
        return (IndexedDocument(decode_document(document), matrix[slot].copy()) for document, slot in rows)

    def _found(self, snapshot: Snapshot, request: SearchRequest) -> list[Candidate]:
        lexical = self._lexical(snapshot, request)
        dense = self._dense(snapshot, request.vector, request.size, request.filter)
        return found_together(snapshot.connection, snapshot.view, lexical, dense)

    def _lexical(self, snapshot: Snapshot, request: SearchRequest) -> dict[int, Place]:
        connection, view = snapshot
        visible = view.visible(connection, request.filter)
        terms = request_terms(connection, request.text)
        postings = (view.postings(connection, term) for term in terms)
        scores = bm25f(postings, visible, self._weights)
        found = np.flatnonzero(scores)
        chosen = found[best(scores[found], request.size)]
        return _places(chosen, scores[chosen])

    def _dense(self, snapshot: Snapshot, vector: Vector | None, k: int, wanted: Filter) -> dict[int, Place]:
        if vector is None:
            return {}
        connection, view = snapshot
        query = checked(vector, view.index.schema.dimensions)
        allowed = np.flatnonzero(view.visible(connection, wanted).mask)
        chosen, scores = nearest(view.matrix, view.slots[allowed], query, k, view.index.longest)
        return _places(allowed[chosen], scores)


def _places(positions: NDArray[np.intp], scores: NDArray[np.float64]) -> dict[int, Place]:
    pairs = zip(positions.tolist(), scores.tolist(), strict=True)
    return {position: Place(rank, score) for rank, (position, score) in enumerate(pairs, 1)}
