"""Words: those that are written to the FTS5 index, and those of a request that are looked up in it.

FTS5 folds case and accents and stems English (Porter 1980), for documents and requests alike. Scripts without
spaces between words would be one token a sentence: runs of them become overlapping pairs of characters.

Terms of requests and documents as FTS5 makes them, for engines that keep them elsewhere.

Every engine takes the same words for the same: what is found must not depend on where a catalog is kept.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import unicodedata
from collections.abc import Sequence

import numpy as np

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import lexical_fields, split_identifier

LONGEST_TERM = 200
"""Characters of a term that count: servers cut longer ones, each at another length."""

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


_GRAMMAR = """
a about above after again all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her
here hers him his how i if in into is it its itself just me more most my no nor not of off on once only
or other our out over own same she should so some such than that the their them then there these they
this those through to too under until up very was we were what when where which while who whom why will
with would you your
"""
_REQUESTING = """
able additionally d finally furthermore give help interested know lastly let like ll looking m moreover
need needs please provide re s t tell thank thanks ve want wanted wondering
"""
"""How people ask an assistant. Rare in catalogs, so that BM25 would weigh them most."""

STOP_WORDS = frozenset((_GRAMMAR + _REQUESTING).split())


TOKENIZER = "porter unicode61 remove_diacritics 2"
FIELDS = ("api", "tool", "category", "description", "parameters", "examples")
"""Fields of the lexical index, in the order of `LexicalWeights`."""
MAX_WORDS = 64
"""Distinct words of a request that are searched: the first ones."""
MAX_CHARACTERS = 20_000
"""Characters of a request that are read."""

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # Hiragana, Katakana
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    r"\uac00-\ud7af]+"  # Hangul
)


def indexed_fields(document: ApiDocument) -> list[str]:
    """The document's words, field by field in the order of `FIELDS`."""
    fields = lexical_fields(document)
    return [_spaced(fields[name]) for name in FIELDS]


def field_lengths(fields: list[str]) -> bytes:
    """Words in each field: little-endian uint16 (fields,)."""
    return np.array([min(len(_WORD.findall(field)), 0xFFFF) for field in fields], dtype="<u2").tobytes()


def request_words(text: str) -> list[str]:
    """Distinct words of a request, at most `MAX_WORDS`: without stop words, unless there is nothing else.

    Anything that is not a letter or digit separates words: FTS5 operators, NUL, lone surrogates.
    """
    text = _spaced(text[:MAX_CHARACTERS])
    words = dict.fromkeys(word.lower() for word in _WORD.findall(f"{text} {split_identifier(text)}"))
    telling = [word for word in words if word not in STOP_WORDS]
    return (telling or list(words))[:MAX_WORDS]


def prepare(connection: sqlite3.Connection) -> None:
    """Adds a private one-row index with the same tokenizer to a connection, for `request_terms`."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"CREATE VIRTUAL TABLE temp.request USING fts5 (text, tokenize = '{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE temp.request_terms USING fts5vocab (temp, request, row)")


def request_terms(connection: sqlite3.Connection, text: str) -> list[str]:
    """Distinct terms of a request as the index holds them, in alphabetical order.

    The connection is in a transaction that is rolled back: what is written here never stays.
    """
    words = request_words(text)
    if not words:
        return []
    connection.execute("DELETE FROM temp.request")
    connection.execute("INSERT INTO temp.request VALUES (?)", (" ".join(words),))
    return [term for (term,) in connection.execute("SELECT term FROM temp.request_terms")]


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: f" {_pairs(run.group())} ", unicodedata.normalize("NFKC", text))


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(max(1, len(run) - 1)))
