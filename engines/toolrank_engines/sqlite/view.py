"""What searches keep in memory of one committed state: places, masks of filters, postings of words.

Arrays are ordered by document id, so a smaller position means a smaller id wherever scores are equal.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Filter
from toolrank_engines.lexical.bm25 import Mask, Postings, Visible
from toolrank_engines.lexical.words import FIELDS
from toolrank_engines.sqlite.lru import Lru
from toolrank_engines.sqlite.matrix import open_matrix
from toolrank_engines.sqlite.statements import select_in
from toolrank_engines.sqlite.tables import Index

_FILTER_BYTES = 16 * 1024 * 1024
_POSTING_BYTES = 64 * 1024 * 1024
_BYTES_A_POSTING = 25

_COLUMNS = """
SELECT row, slot, public, tenant, category, tool_key, effect, deprecated, lengths FROM docs_# ORDER BY id
"""
_FIELD_NUMBER = " ".join(f"WHEN '{field}' THEN {number}" for number, field in enumerate(FIELDS))
_ENTRIES = f"SELECT doc * {len(FIELDS)} + CASE col {_FIELD_NUMBER} END FROM entries_# WHERE term = ?"  # noqa: S608


class Column:
    """A column of text as small numbers."""

    def __init__(self, values: Sequence[str]) -> None:
        self._codes: dict[str, int] = {}
        self._rows = np.fromiter(
            (self._codes.setdefault(value, len(self._codes)) for value in values), np.int32, len(values)
        )

    def among(self, wanted: Iterable[str]) -> Mask:
        """Which rows hold one of the wanted values: bool (n,)."""
        codes = [self._codes[value] for value in wanted if value in self._codes]
        return np.isin(self._rows, np.array(codes, dtype=np.int32))


class View:
    """The documents of one index at one generation. Only its caches change; for any number of threads."""

    def __init__(self, connection: sqlite3.Connection, index: Index, folder: Path) -> None:
        """Reads inside the connection's transaction.

        Raises:
            MatrixGone: the vectors of this state were replaced meanwhile.
        """
        self.index = index
        self.matrix = open_matrix(folder / index.matrix, index.slots, index.schema.dimensions)
        rows = connection.execute(index.sql(_COLUMNS)).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * 9
        self.rows = np.array(columns[0], dtype=np.int64)
        self.slots = np.array(columns[1], dtype=np.int64)
        self._public = np.array(columns[2], dtype=bool)
        self._tenant, self._category, self._tool, self._effect = (Column(column) for column in columns[3:7])
        self._deprecated = np.array(columns[7], dtype=bool)
        self._lengths = np.frombuffer(b"".join(columns[8]), dtype="<u2").reshape(-1, len(FIELDS))
        self._position = np.full(int(self.rows.max(initial=0)) + 1, -1, dtype=np.int64)
        self._position[self.rows] = np.arange(len(self.rows))
        self._visible: Lru[Filter, Visible] = Lru(_FILTER_BYTES)
        self._postings: Lru[str, Postings] = Lru(_POSTING_BYTES)

    def positions(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of row numbers of this view: int (n,)."""
        found: NDArray[np.int64] = self._position[np.asarray(rows, dtype=np.int64)]
        return found

    def visible(self, connection: sqlite3.Connection, wanted: Filter) -> Visible:
        """The documents that may be found."""
        cached = self._visible.get(wanted)
        if cached is None:
            mask = self._mask(connection, wanted)
            lengths = self._lengths[mask]
            average = lengths.mean(axis=0) if len(lengths) else np.ones(len(FIELDS))
            cached = Visible(mask, len(lengths), np.maximum(average, 1e-9))
            self._visible.put(wanted, cached, mask.nbytes + 500)
        return cached

    def postings(self, connection: sqlite3.Connection, term: str) -> Postings:
        """Where a term of the index occurs."""
        cached = self._postings.get(term)
        if cached is None:
            entries = (entry for (entry,) in connection.execute(self.index.sql(_ENTRIES), (term,)))
            keys, counts = np.unique(np.fromiter(entries, np.int64), return_counts=True)
            positions, fields = self._position[keys // len(FIELDS)], keys % len(FIELDS)
            lengths = self._lengths[positions, fields].astype(np.float64)
            cached = Postings(positions, fields.astype(np.int8), counts.astype(np.float64), lengths)
            self._postings.put(term, cached, len(keys) * _BYTES_A_POSTING + 500)
        return cached

    def of_tools(self, tools: Iterable[str]) -> Mask:
        """Which documents belong to one of these tools: bool (n,)."""
        return self._tool.among(tools)

    def _mask(self, connection: sqlite3.Connection, wanted: Filter) -> Mask:
        mask = self._public | self._allowed(connection, wanted.principals)
        mask &= self._tenant.among({"", wanted.tenant})
        if wanted.categories:
            mask &= self._category.among(wanted.categories)
        if wanted.tools:
            mask &= self._tool.among(wanted.tools)
        if wanted.effects:
            mask &= self._effect.among(effect.value for effect in wanted.effects)
        if wanted.deprecated != "include":
            mask &= self._deprecated == (wanted.deprecated == "only")
        return mask

    def _allowed(self, connection: sqlite3.Connection, principals: Iterable[str]) -> Mask:
        statement = self.index.sql("SELECT row FROM principals_# WHERE principal IN")
        rows = [row for (row,) in select_in(connection, statement, principals)]
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[self.positions(rows)] = True
        return mask


class LatestView:
    """Keeps the view of the newest generation that any reader asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = -1
        self._view: View | None = None

    def get(self, generation: int, build: Callable[[], View]) -> View:
        """The view of this generation, built once however many threads ask."""
        with self._lock:
            if self._view is not None and self._generation == generation:
                return self._view
            view = build()
            if generation > self._generation:
                self._generation, self._view = generation, view
            return view
