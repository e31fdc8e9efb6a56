"""A committed state in memory, for searches: places, masks of filters, postings of words.

Arrays are ordered by document id, so a smaller position means a smaller id wherever scores are equal.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Candidate, Filter, Place, by_best_rank
from kitpick_engines.document import ApiDocument, Effect, decode_chains, decode_document
from kitpick_engines.errors import CorruptStore
from kitpick_engines.lexical import FIELDS, Mask, Postings, TermScores, Visible, term_scores
from kitpick_engines.sqlite.connections import REPLACED
from kitpick_engines.sqlite.matrix import Matrix
from kitpick_engines.sqlite.tables import EFFECTS, IndexRow, StrangeValue, refuse_other_types, select_in
from kitpick_foundation.forks import fork_lock

_FILTER_BYTES = 16 * 1024 * 1024
_POSTING_BYTES = 48 * 1024 * 1024
_BYTES_A_POSTING = 25
_SCORE_BYTES = 16 * 1024 * 1024
_BYTES_A_SCORE = 16
_CANDIDATE_BYTES = 16 * 1024 * 1024
_BYTES_OF_NAMES = 1_000
"""What a candidate takes beside its text and its vector."""

_LAST_ROW = 2**40
"""No catalog comes so far. Larger numbers would not fit where they are multiplied."""

_TYPES = {
    **dict.fromkeys(("row", "slot", "checksum", "public"), int),
    **dict.fromkeys(("tenant", "category", "tool_key", "effect"), str),
    "deprecated": int,
    "lengths": bytes,
}
_COLUMNS = f"SELECT {', '.join(_TYPES)} FROM docs_# ORDER BY id"  # noqa: S608 - names of columns
_KEYS = {"docs_#": "id", "principals_#": "principal"}
"""Columns that are only compared. Whatever is no text stands before or behind all texts of their index."""
_OTHER_KEYS = "SELECT {0} FROM {1} WHERE {0} IS NULL OR {0} < '' OR {0} >= x'' LIMIT 1"
_FIELD_NUMBER = " ".join(f"WHEN '{field}' THEN {number}" for number, field in enumerate(FIELDS))
_ENTRIES = (
    f"SELECT doc * {len(FIELDS)} + CASE col {_FIELD_NUMBER} END FROM entries_# "  # noqa: S608
    f"WHERE term = ? AND doc BETWEEN 1 AND {_LAST_ROW}"
)


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


_SPREAD = 64
"""A table has so many places for each number at most: rows of replaced documents are not used again."""


class Positions:
    """Where each number of a column stands in it.

    A table answers at once. Where the numbers are too far apart for one, as a stranger may have written
    them, they are looked up in order.

    Args:
        numbers: int (n,), from 1 on, in any order.
    """

    def __init__(self, numbers: NDArray[np.int64]) -> None:
        self._order = np.argsort(numbers)
        self._sorted = numbers[self._order]
        self._table = np.zeros(0, dtype=np.int64)
        if len(numbers) and self._sorted[-1] < _SPREAD * len(numbers) + 1024:
            self._table = np.full(int(self._sorted[-1]) + 1, -1, dtype=np.int64)
            self._table[numbers] = np.arange(len(numbers))

    def of(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The position of each: int (m,), -1 for what is not there."""
        found = np.full(len(wanted), -1, dtype=np.int64)
        if len(self._table):
            inside = (wanted >= 0) & (wanted < len(self._table))
            found[inside] = self._table[wanted[inside]]
            return found
        at = np.minimum(np.searchsorted(self._sorted, wanted), len(self._sorted) - 1)
        there = self._sorted[at] == wanted if len(self._sorted) else np.zeros(len(wanted), dtype=bool)
        found[there] = self._order[at[there]]
        return found


class View:
    """The documents of one index at one generation. Only its caches change; for any number of threads."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        index: IndexRow,
        folder: Path,
        weights: NDArray[np.float64],
        before: View | None,
    ) -> None:
        """Reads inside the connection's transaction.

        Args:
            connection: where the tables are read.
            index: the live one.
            folder: of the vectors.
            weights: of words by field, (fields,).
            before: an earlier state, whose rows need not be compared with their checksums again.

        Raises:
            MatrixGone: the vectors of this state were replaced meanwhile.
        """
        self.index = index
        self.matrix = Matrix(folder / index.matrix, index.slots, index.schema.dimensions)
        rows = connection.execute(index.sql(_COLUMNS)).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * 10
        _refuse_strange_columns(columns)
        _refuse_strange_keys(connection, index)
        self.rows = np.array(columns[0], dtype=np.int64)
        self.slots = np.array(columns[1], dtype=np.int64)
        self.whole_slots = np.zeros(len(self.matrix.rows), dtype=bool)
        """Rows of the matrix that were found whole: bool (rows,)."""
        self.searchable = self._whole_vectors(np.array(columns[2], dtype=np.int64), before)
        """Documents whose vector is whole: bool (n,) by position."""
        self._public = np.array(columns[3], dtype=bool)
        self._tenant, self._category, self._tool, self._effect = (Column(column) for column in columns[4:8])
        self._deprecated = np.array(columns[8], dtype=bool)
        self._lengths = np.frombuffer(b"".join(columns[9]), dtype="<u2").reshape(len(rows), len(FIELDS))
        if len(rows) and not 1 <= self.rows.min() <= self.rows.max() <= _LAST_ROW:
            raise ValueError("numbers of rows that kitpick does not write")
        self._positions = Positions(self.rows)
        self._visible: Lru[Filter, Visible] = Lru(_FILTER_BYTES)
        self._weights = weights
        self._postings: Lru[str, Postings] = Lru(_POSTING_BYTES)
        self._term_scores: Lru[tuple[Filter, str], TermScores] = Lru(_SCORE_BYTES)
        self.candidates: Lru[int, Candidate] = Lru(_CANDIDATE_BYTES)
        """Those that were read last, without places, by position: the same are proposed again and again."""

    def vectors(self, positions: Sequence[int]) -> NDArray[np.float32]:
        """Vectors of documents (n, d), in the order of `positions`; zeros where one is lost."""
        places = np.asarray(positions, dtype=np.int64)
        vectors = np.zeros((len(places), self.index.schema.dimensions), dtype=np.float32)
        whole = self.searchable[places]
        vectors[whole] = self.matrix.rows[self.slots[places[whole]]]
        return vectors

    def positions(self, rows: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of those row numbers that this view has, in their order: int (n,)."""
        positions = self._positions.of(np.asarray(rows, dtype=np.int64))
        return positions[positions >= 0]

    def visible(self, connection: sqlite3.Connection, wanted: Filter) -> Visible:
        """The documents that a filter shows."""
        cached = self._visible.get(wanted)
        if cached is None:
            mask = self._mask(connection, wanted)
            lengths = self._lengths[mask]
            average = lengths.mean(axis=0) if len(lengths) else np.ones(len(FIELDS))
            cached = Visible(mask, len(lengths), np.maximum(average, 1e-9))
            self._visible.put(wanted, cached, mask.nbytes + 500)
        return cached

    def term_scores(self, connection: sqlite3.Connection, term: str, wanted: Filter) -> TermScores:
        """What a term adds to the scores of the documents that a filter shows."""
        cached = self._term_scores.get((wanted, term))
        if cached is None:
            visible = self.visible(connection, wanted)
            cached = term_scores(self._postings_of(connection, term), visible, self._weights)
            self._term_scores.put((wanted, term), cached, len(cached.scores) * _BYTES_A_SCORE + 500)
        return cached

    def _postings_of(self, connection: sqlite3.Connection, term: str) -> Postings:
        cached = self._postings.get(term)
        if cached is None:
            entries = (entry for (entry,) in connection.execute(self.index.sql(_ENTRIES), (term,)))
            keys, counts = np.unique(np.fromiter(entries, np.int64), return_counts=True)
            positions = self._positions.of(keys // len(FIELDS))
            there = positions >= 0
            if not there.all():  # words of no document: a stranger wrote them
                keys, counts, positions = keys[there], counts[there], positions[there]
            fields = keys % len(FIELDS)
            lengths = self._lengths[positions, fields].astype(np.float64)
            cached = Postings(positions, fields.astype(np.int8), counts.astype(np.float64), lengths)
            self._postings.put(term, cached, len(keys) * _BYTES_A_POSTING + 500)
        return cached

    def of_tools(self, tools: Iterable[str]) -> Mask:
        """Which documents belong to one of these tools: bool (n,)."""
        return self._tool.among(tools)

    def _whole_vectors(self, checksums: NDArray[np.int64], before: View | None) -> Mask:
        known = np.zeros(0, dtype=bool)
        if before is not None and before.matrix.identity == self.matrix.identity:
            known = before.whole_slots
        whole = self.matrix.whole(self.slots, checksums, known)
        self.whole_slots[self.slots[whole]] = True
        return whole

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
        _refuse_strange_column("principals.row", int, rows)
        mask = np.zeros(len(self.rows), dtype=bool)
        mask[self.positions(rows)] = True
        return mask


def _refuse_strange_columns(columns: Sequence[Sequence[object]]) -> None:
    """Compares what a view reads with what kitpick writes."""
    for (name, kind), values in zip(_TYPES.items(), columns, strict=True):
        _refuse_strange_column(f"docs.{name}", kind, values)
    for strange in set(columns[7]) - EFFECTS:
        raise StrangeValue("docs.effect", strange)


def _refuse_strange_column(place: str, kind: type, values: Sequence[object]) -> None:
    if set(map(type, values)) - {kind}:
        raise StrangeValue(place, next(value for value in values if type(value) is not kind))


def _refuse_strange_keys(connection: sqlite3.Connection, index: IndexRow) -> None:
    for table, column in _KEYS.items():
        found = connection.execute(index.sql(_OTHER_KEYS.format(column, table))).fetchone()
        if found is not None:
            raise StrangeValue(f"{index.sql(table)}.{column}", found[0])


class LatestView:
    """Keeps the view of the newest generation that any reader asked for."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._generation = -1
        self._view: View | None = None

    def get(self, generation: int, build: Callable[[View | None], View]) -> View:
        """The view of this generation, built once from the one before, however many threads ask."""
        with self._lock:
            latest = self._view
            if latest is not None and self._generation == generation and not latest.matrix.is_cut():
                return latest
            view = build(self._view)
            if generation >= self._generation:
                self._generation, self._view = generation, view
            return view


Key = TypeVar("Key")
Value = TypeVar("Value")


class Lru(Generic[Key, Value]):
    """A least-recently-used cache of at most `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._held = 0
        self._items: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = fork_lock()

    def get(self, key: Key) -> Value | None:
        """The value, None if it is not cached."""
        with self._lock:
            if key not in self._items:
                return None
            self._items.move_to_end(key)
            return self._items[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Caches a value of `size` bytes."""
        with self._lock:
            self._held += size - self._items.pop(key, (None, 0))[1]
            self._items[key] = value, size
            while self._held > self._capacity:
                _, (_, freed) = self._items.popitem(last=False)
                self._held -= freed


_JOINED = "FROM docs_# JOIN bodies_# USING (row)"
_FOUND = {**dict.fromkeys(("id", "category", "tool", "api", "text"), str), "chains": bytes}
_CANDIDATES = "SELECT row, id, category, tool, api, text, deprecated, effect, {} " + f"{_JOINED} WHERE row IN"
BothRankings = tuple[Mapping[int, Place], Mapping[int, Place]]
"""The lexical and the dense places of what one search finds, by position."""
_DOCUMENTS = "SELECT id, row, document FROM docs_# LEFT JOIN bodies_# USING (row) WHERE id IN"


def found_together(
    connection: sqlite3.Connection, view: View, rankings: Sequence[BothRankings]
) -> list[list[Candidate]]:
    """For each search the candidates of both of its rankings, best rank of either first, ties by id.

    What several searches find is read once.
    """
    orders = [by_best_rank(lexical, dense) for lexical, dense in rankings]
    every = list(dict.fromkeys(chain.from_iterable(orders)))
    plain = dict(zip(every, read_candidates(connection, view, every), strict=True))
    return [
        [
            msgspec.structs.replace(plain[place], lexical=lexical.get(place), dense=dense.get(place))
            for place in order
        ]
        for order, (lexical, dense) in zip(orders, rankings, strict=True)
    ]


def read_candidates(connection: sqlite3.Connection, view: View, positions: Sequence[int]) -> list[Candidate]:
    """Candidates without places, in the order of `positions`."""
    found = {position: view.candidates.get(position) for position in positions}
    unread = [position for position, candidate in found.items() if candidate is None]
    for position, candidate in zip(unread, _read_candidates(connection, view, unread), strict=True):
        size = 2 * len(candidate.text) + candidate.vector.nbytes + _BYTES_OF_NAMES
        view.candidates.put(position, candidate, size)
        found[position] = candidate
    return [candidate for candidate in map(found.get, positions) if candidate is not None]


def _read_candidates(connection: sqlite3.Connection, view: View, positions: Sequence[int]) -> list[Candidate]:
    if not positions:
        return []
    rows = view.rows[positions].tolist()
    vectors = dict(zip(rows, map(np.copy, view.vectors(positions)), strict=True))
    found = {}
    statement = view.index.sql(_CANDIDATES.format("chains" if view.index.chained else "x''"))
    for row, *fields, deprecated, effect, chains in select_in(connection, statement, rows):
        refuse_other_types("bodies", _FOUND, [*fields, chains])
        document_id, category, tool, api, text = fields
        flags = bool(deprecated), Effect(effect)
        plain = Candidate(document_id, category, tool, api, text, vectors[row], None, None, *flags)
        needs, gives = decode_chains(chains)
        found[row] = msgspec.structs.replace(plain, needs=needs, gives=gives)
    if len(found) < len(rows):
        raise CorruptStore(f"the catalog holds documents without their texts: it is damaged; {REPLACED}")
    return [found[row] for row in rows]


def read_documents(
    connection: sqlite3.Connection, view: View, ids: Sequence[str], mask: Mask
) -> list[ApiDocument]:
    """Whole documents that the mask (bool (n,) by position) shows, in the order of `ids`."""
    found = list(select_in(connection, view.index.sql(_DOCUMENTS), dict.fromkeys(ids)))
    shown = mask[view.positions([row for _, row, _ in found])]
    visible = {key: document for (key, _, document), here in zip(found, shown, strict=True) if here}
    if None in visible.values():
        raise StrangeValue("bodies.document", "nothing")
    return [decode_document(visible[document_id]) for document_id in ids if document_id in visible]
