"""Vectors of documents: the encoder as a sync uses it, a check of its output, and a cache of embeddings.

The cache is one SQLite file that several processes may share. A damaged file is moved aside and a new one is
begun. If nothing can be written, the sync goes on without the cache. Neither is an error; `note` says what
happened.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import IndexSchema, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.document_vectors import document_vectors
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_foundation.disk import BUSY_SECONDS, DISK, Disk, use_write_ahead_log
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_ingest.errors import InvalidEmbedding

T = TypeVar("T")

DEFAULT_MAX_BYTES = 2 * 1024**3
"""Room for about 1.2 million vectors of 384 dimensions."""

_LAYOUT = """
CREATE TABLE IF NOT EXISTS vectors (key BLOB NOT NULL UNIQUE, used INTEGER NOT NULL, vector BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors (used);
"""
_KEYS_A_QUERY = 500
_DAY = 86_400
_KEPT_BY_PRUNING = 0.8


def cache_key(identity: str, template: int, text: str) -> bytes:
    """16 bytes that identify a vector: model, version of the template, and text."""
    head = f"{len(identity)}:{identity}:{template}:".encode()
    return hashlib.blake2b(head + text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class EmbeddingCache:
    """Vectors by key. Writes are durable at once, so that a killed sync does not embed its texts again.

    The least recently used vectors go when the file outgrows `max_bytes`; use is noted by day, so that hits
    cost no writes. Safe to share between threads. `note` is empty while all is well.
    """

    def __init__(
        self,
        path: Path,
        max_bytes: int = DEFAULT_MAX_BYTES,
        clock: Callable[[], float] = time.time,
        disk: Disk = DISK,
    ) -> None:
        self.path = path
        self._disk = disk
        self.note = ""
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = fork_lock()
        self._given_up = False
        self._database: sqlite3.Connection | None = None
        self._attempt(lambda: None, None)

    def get(self, keys: Sequence[bytes], dimensions: int) -> dict[bytes, Vector]:
        """The vectors that are known, each of shape (dimensions,); others are left out."""
        return self._attempt(lambda: self._get(keys, dimensions), {})

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Stores vectors; they are on disk when this returns."""
        self._attempt(lambda: self._put(vectors), None)

    def close(self) -> None:
        """Releases the file."""
        with FORKS_WAIT, self._lock:
            self._disconnect()

    def _attempt(self, action: Callable[[], T], otherwise: T) -> T:
        """Runs an action: on a new file if this one is damaged, not at all if the cache was given up."""
        with FORKS_WAIT, self._lock:
            for _ in range(2):
                if self._given_up:
                    break
                try:
                    self._connect()
                    return action()
                except (sqlite3.Error, OSError) as error:
                    self._disconnect()
                    self._recover(error)
        return otherwise

    def _connect(self) -> None:
        if self._database is not None:
            return
        self._disk.make_folder(self.path.parent)
        self._database = self._disk.connect(str(self.path.absolute()), BUSY_SECONDS)
        use_write_ahead_log(self._database, BUSY_SECONDS)
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.executescript(_LAYOUT)

    def _disconnect(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _recover(self, error: Exception) -> None:
        """Moves a damaged file aside. After any other error the sync goes on without the cache."""
        try:
            if type(error) is not sqlite3.DatabaseError:  # its subclasses are about access, not about content
                raise error
            aside = self.path.with_name(self.path.name + ".damaged")
            self._disk.replace(self.path, aside)
            for suffix in ("-wal", "-shm"):
                self._disk.remove(self.path.with_name(self.path.name + suffix))
            self.note = f"the embedding cache was damaged, moved to {aside} and begun anew"
        except (sqlite3.Error, OSError) as reason:
            self._given_up = True
            self.note = f"no embedding cache: {self.path}: {reason}"

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._database is not None, "used within _attempt"
        return self._database

    def _get(self, keys: Sequence[bytes], dimensions: int) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        long_unused: list[tuple[int, bytes]] = []
        for start in range(0, len(keys), _KEYS_A_QUERY):
            part = keys[start : start + _KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, vector, used FROM vectors WHERE key IN ({marks})"  # noqa: S608 - only marks
            for key, blob, used in self._open.execute(query, part):
                if (vector := _vector(blob, dimensions)) is not None:
                    found[key] = vector
                if not isinstance(used, int) or used < self._today():
                    long_unused.append((self._today(), key))
        if long_unused:
            with self._transaction():
                self._open.executemany("UPDATE vectors SET used = ? WHERE key = ?", long_unused)
        return found

    def _put(self, vectors: Mapping[bytes, Vector]) -> None:
        rows = [(key, self._today(), vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with self._transaction():
            self._open.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
            self._prune()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._open.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._open.in_transaction:  # a full disk has rolled it back already
                self._open.execute("ROLLBACK")
            raise
        self._open.execute("COMMIT")

    def _prune(self) -> None:
        """Removes the least recently used vectors of a file that is too large; freed pages are used again."""
        size = self._size()
        if size <= self._max_bytes:
            return
        (rows,) = self._open.execute("SELECT count(*) FROM vectors").fetchone()
        surplus = rows - int(rows * _KEPT_BY_PRUNING * self._max_bytes / size)
        self._open.execute(
            "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors ORDER BY used, rowid LIMIT ?)",
            (surplus,),
        )

    def _size(self) -> int:
        """Bytes in use within the file."""
        used, free, page = (
            self._open.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((used - free) * page)

    def _today(self) -> int:
        return int(self._clock() // _DAY)


def _vector(blob: object, dimensions: int) -> Vector | None:
    """What a row holds, None where kitpick did not write it: its text is embedded again."""
    if not isinstance(blob, bytes) or len(blob) != 4 * dimensions:
        return None
    vector = np.frombuffer(blob, "<f4")
    return vector if np.isfinite(vector).all() else None


_NORM_TOLERANCE = 1e-2
"""Loose enough for a quantised encoder, tight enough to tell unit vectors from others."""


class Embedder(Protocol):
    """Turns texts into vectors; `kitpick_models.encoders.Encoder` is one."""

    @property
    def identity(self) -> str:
        """Name and digest of the model: the same identity means the same vectors."""

    @property
    def dimensions(self) -> int:
        """Length d of every vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of float32, shape (n, d), in the order of the texts."""


def schema_of(embedder: Embedder) -> IndexSchema:
    """The index schema of this embedder (with its model set if it has one) and the current text templates."""
    return IndexSchema(
        model=embedder.identity,
        dimensions=embedder.dimensions,
        template=TEMPLATE_VERSION,
        models=getattr(embedder, "model_set", ""),
    )


def encode_checked(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """The vectors of the texts, shape (n, d).

    Raises:
        InvalidEmbedding: another shape, a value that is not finite, or vectors that are not of length 1.
    """
    vectors = np.asarray(embedder.encode(texts), dtype=np.float32)
    expected = (len(texts), embedder.dimensions)
    if vectors.shape != expected:
        raise InvalidEmbedding(f"{embedder.identity} returned shape {vectors.shape}, expected {expected}")
    if not np.isfinite(vectors).all():
        raise InvalidEmbedding(f"{embedder.identity} returned values that are not finite; verify its files")
    norms = np.linalg.norm(vectors, axis=1)
    if np.abs(norms - 1).max(initial=0) > _NORM_TOLERANCE:
        raise InvalidEmbedding(f"{embedder.identity} returned vectors that are not of length 1")
    return vectors


class DocumentVectors:
    """Computes vectors, and counts documents that were `embedded` and documents taken `from_cache`."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None) -> None:
        self.embedded = 0
        self.from_cache = 0
        self._embedder = embedder
        self._cache = cache

    def of(self, documents: Sequence[ApiDocument]) -> list[Vector]:
        """Unit vectors of float32 (d,), in the order of the documents. Equal texts are embedded once.

        Raises:
            InvalidEmbedding: the embedder returned something else.
        """
        return document_vectors(documents, self._of_texts)

    def _of_texts(self, texts: Sequence[str]) -> list[Vector]:
        """Vectors of the texts of documents, two of each."""
        keys = [cache_key(self._embedder.identity, TEMPLATE_VERSION, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._cache.get(list(wanted), self._embedder.dimensions) if self._cache else {}
        self._count(list(zip(keys[::2], keys[1::2], strict=True)), known)
        known.update(self._embed({key: text for key, text in wanted.items() if key not in known}))
        return [known[key] for key in keys]

    def _count(self, documents: Sequence[tuple[bytes, bytes]], known: Mapping[bytes, Vector]) -> None:
        """Counts documents by the keys of their texts; those with equal ones are embedded as one."""
        fresh = [keys for keys in documents if not known.keys() >= set(keys)]
        self.embedded += len(set(fresh))
        self.from_cache += len(documents) - len(fresh)

    def _embed(self, missing: dict[bytes, str]) -> dict[bytes, Vector]:
        if not missing:
            return {}
        vectors = encode_checked(self._embedder, list(missing.values()))
        fresh: dict[bytes, Vector] = dict(zip(missing, vectors, strict=True))
        if self._cache:
            self._cache.put(fresh)
        return fresh
