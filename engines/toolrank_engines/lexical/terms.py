"""Terms of requests and documents as FTS5 makes them, for engines that keep them elsewhere.

Every engine takes the same words for the same: what is found must not depend on where a catalog is kept.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence

from toolrank_engines.lexical.words import FIELDS, TOKENIZER, prepare, request_terms

LONGEST_TERM = 200
"""Characters of a term that count: servers cut longer ones, each at a length of its own."""

TermCounts = dict[str, list[int]]
"""Occurrences of each term by field, in the order of `FIELDS`."""

_COUNTS = "SELECT doc, term, col, count(*) FROM temp.batch_terms GROUP BY doc, term, col"


class Terms:
    """A private in-memory FTS5 index that is filled and read. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        prepare(self._database)
        columns = ", ".join(FIELDS)
        self._database.execute(
            f"CREATE VIRTUAL TABLE temp.batch USING fts5 ({columns}, tokenize = '{TOKENIZER}')"
        )
        self._database.execute(
            "CREATE VIRTUAL TABLE temp.batch_terms USING fts5vocab (temp, batch, instance)"
        )

    def of_request(self, text: str) -> list[str]:
        """Distinct terms of a request, in alphabetical order."""
        with self._lock:
            return list(dict.fromkeys(term[:LONGEST_TERM] for term in request_terms(self._database, text)))

    def of_documents(self, batch: Sequence[Sequence[str]]) -> list[TermCounts]:
        """Counts of the terms of each document, given as its texts by field."""
        counts: list[TermCounts] = [{} for _ in batch]
        marks = ", ".join("?" * (len(FIELDS) + 1))
        insert = f"INSERT INTO temp.batch (rowid, {', '.join(FIELDS)}) VALUES ({marks})"  # noqa: S608 - fixed names
        with self._lock:
            self._database.executemany(insert, ((row, *fields) for row, fields in enumerate(batch, 1)))
            for row, term, field, count in self._database.execute(_COUNTS):
                of_term = counts[row - 1].setdefault(term[:LONGEST_TERM], [0] * len(FIELDS))
                of_term[FIELDS.index(field)] += count
            self._database.execute("DELETE FROM temp.batch")
        return counts
