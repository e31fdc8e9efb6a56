"""The lexical ranking that all engines share: the words of documents and requests, and how they are weighed.

Words are those that are written to the FTS5 index, and those of a request that are looked up in it.

FTS5 folds case and accents and stems English (Porter 1980), for documents and requests alike. Scripts without
spaces between words would be one token a sentence: runs of them become overlapping pairs of characters.

Terms of requests and documents as FTS5 makes them, for engines that keep them elsewhere.

Every engine takes the same words for the same: what is found must not depend on where a catalog is kept.

They are weighed by BM25F (Robertson, Zaragoza & Taylor 2004, "Simple BM25 extension to multiple weighted
fields"). Of a term in a document, occurrences are counted per field, divided by the field's relative length,
weighted and added; only then do they saturate. All statistics are of the visible documents: a score says
nothing about the others.
"""

from __future__ import annotations

import math
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import lexical_fields, split_identifier
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import OfThisProcess, fork_lock

LONGEST_TERM = 200
"""Characters of a term that count: servers cut longer ones, each at another length."""

TermCounts = dict[str, list[int]]
"""Occurrences of each term by field, in the order of `FIELDS`."""

_COUNTS = "SELECT doc, term, col, count(*) FROM temp.batch_terms GROUP BY doc, term, col"


class Terms:
    """A private in-memory FTS5 index that is filled and read. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._database = OfThisProcess(_open_terms)
        self._database.get()

    @FORKS_WAIT
    def of_request(self, text: str, *, named: bool = False) -> list[str]:
        """Distinct terms of a request, in alphabetical order; see `request_words`."""
        with self._lock:
            found = request_terms(self._database.made or self._database.get(), text, named=named)
            return list(dict.fromkeys(term[:LONGEST_TERM] for term in found))

    @FORKS_WAIT
    def of_documents(self, batch: Sequence[Sequence[str]]) -> list[TermCounts]:
        """Counts of the terms of each document, given as its texts by field."""
        counts: list[TermCounts] = [{} for _ in batch]
        marks = ", ".join("?" * (len(FIELDS) + 1))
        insert = f"INSERT INTO temp.batch (rowid, {', '.join(FIELDS)}) VALUES ({marks})"  # noqa: S608 - fixed names
        with self._lock:
            database = self._database.made or self._database.get()
            database.executemany(insert, ((row, *fields) for row, fields in enumerate(batch, 1)))
            for row, term, field, count in database.execute(_COUNTS):
                of_term = counts[row - 1].setdefault(term[:LONGEST_TERM], [0] * len(FIELDS))
                of_term[FIELDS.index(field)] += count
            database.execute("DELETE FROM temp.batch")
        return counts


@FORKS_WAIT
def _open_terms() -> sqlite3.Connection:
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    prepare(database)
    columns = ", ".join(FIELDS)
    database.execute(f"CREATE VIRTUAL TABLE temp.batch USING fts5 ({columns}, tokenize = '{TOKENIZER}')")
    database.execute("CREATE VIRTUAL TABLE temp.batch_terms USING fts5vocab (temp, batch, instance)")
    return database


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


def request_words(text: str, *, named: bool = False) -> list[str]:
    """Distinct words of a request, at most `MAX_WORDS`: without stop words, unless there is nothing else.

    They also stay in a name of which they are half: `get_me`, `list-all`; and wherever the text is known to
    be a name: `named`. Anything that is not a letter or digit separates words: FTS5 operators, NUL, lone
    surrogates.
    """
    text = _spaced(text[:MAX_CHARACTERS])
    words = dict.fromkeys(word.lower() for word in _WORD.findall(f"{text} {split_identifier(text)}"))
    telling = [word for word in words if word not in STOP_WORDS]
    is_name = len(telling) == 1 and len(text.split()) == 1
    return (list(words) if named or is_name or not telling else telling)[:MAX_WORDS]


def prepare(connection: sqlite3.Connection) -> None:
    """Adds a private one-row index with the same tokenizer to a connection, for `request_terms`."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"CREATE VIRTUAL TABLE temp.request USING fts5 (text, tokenize = '{TOKENIZER}')")
    connection.execute("CREATE VIRTUAL TABLE temp.request_terms USING fts5vocab (temp, request, row)")


def request_terms(connection: sqlite3.Connection, text: str, *, named: bool = False) -> list[str]:
    """Distinct terms of a request as the index holds them, in alphabetical order; see `request_words`.

    The connection is in a transaction that is rolled back: what is written here never stays.
    """
    words = request_words(text, named=named)
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


class LexicalWeights(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much an occurrence in a field counts in BM25; named as the keys of `text.lexical_fields`.

    Chosen on Seal-Tools dev, BFCL and MetaTool, none of which is reported on. The optimum is flat: anything
    between 1 and 3 for the names is within a point of Recall@5.
    """

    api: float = 2.0
    tool: float = 2.0
    category: float = 1.0
    description: float = 1.0
    parameters: float = 0.5
    examples: float = 1.0


K1 = 1.2
B = 0.75

Mask = NDArray[np.bool_]


class Postings(NamedTuple):
    """Postings of a term: one entry per document and field, those of a document side by side."""

    positions: NDArray[np.int64]
    """Documents, int (m,)."""
    fields: NDArray[np.int8]
    counts: NDArray[np.float64]
    lengths: NDArray[np.float64]
    """Words in that field of that document."""
    holders: int | None = None
    """Visible documents that hold the term, where not all of them are listed here."""


class Visible(NamedTuple):
    """The documents that one filter shows, and their statistics."""

    mask: Mask
    """bool (n,) by position."""
    documents: int
    average_lengths: NDArray[np.float64]
    """Words per field, (fields,)."""


class TermScores(NamedTuple):
    """What one term of a request adds to the scores of the visible documents that hold it."""

    positions: NDArray[np.int64]
    """Documents, int (m,), each once."""
    scores: NDArray[np.float64]
    """Above 0, (m,)."""


def term_scores(term: Postings, visible: Visible, weights: NDArray[np.float64]) -> TermScores:
    """The part of BM25F that is one term's.

    Args:
        term: its postings.
        visible: who may be scored.
        weights: per field, (fields,), not negative.
    """
    positions, frequencies = _frequencies(term, visible, weights)
    found = len(positions) if term.holders is None else term.holders
    rarity = math.log1p((visible.documents - found + 0.5) / (found + 0.5))
    return TermScores(positions, rarity * frequencies * (K1 + 1) / (frequencies + K1))


def bm25f(terms: Iterable[TermScores], documents: int) -> NDArray[np.float64]:
    """Scores by position, float64 (documents,): above 0 exactly for those that hold a term.

    Args:
        terms: of the request, in a fixed order, so that equal documents get equal sums.
        documents: how many there are, visible or not.
    """
    scores = np.zeros(documents)
    for term in terms:
        scores[term.positions] += term.scores
    return scores


def _frequencies(
    term: Postings, visible: Visible, weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Visible documents with the term, and its weighted frequency in each."""
    shown = visible.mask[term.positions]
    positions, fields = term.positions[shown], term.fields[shown]
    relative = term.lengths[shown] / visible.average_lengths[fields]
    parts = weights[fields] * term.counts[shown] / (1 - B + B * relative)
    first = np.flatnonzero(np.diff(positions, prepend=-1))
    if not len(first):
        return positions, parts
    return positions[first], np.add.reduceat(parts, first)
