"""Words: what is put into the FTS5 index and how a request becomes an FTS5 query.

FTS5 folds case and accents and stems English (Porter 1980). Scripts without spaces between words would be one
token a sentence: runs of them are indexed and asked as overlapping pairs of characters.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata

import msgspec

from toolrank_engines.document import ApiDocument
from toolrank_engines.sqlite.settings import LexicalWeights
from toolrank_engines.sqlite.stop_words import STOP_WORDS
from toolrank_engines.sqlite.tables import FIELDS, Index
from toolrank_engines.text import lexical_fields, split_identifier

MAX_TERMS = 64
"""Distinct words of a request that are searched: the first ones."""
MAX_CHARACTERS = 20_000
"""Characters of a request that are read."""

_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(
    r"[\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"  # Hiragana, Katakana
    r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    r"\uac00-\ud7af]+"  # Hangul
)
_MATCHES = """
SELECT rowid, -bm25(words_#, {weights}) AS score FROM words_#
WHERE words_# MATCH :query AND substr(:places, rowid * 4 + 1, 4) > x'00000000'
ORDER BY score DESC, substr(:places, rowid * 4 + 1, 4) LIMIT :size
"""


def indexed_fields(document: ApiDocument) -> list[str]:
    """The document's words, field by field in the order of `FIELDS`."""
    fields = lexical_fields(document)
    return [_spaced(fields[name]) for name in FIELDS]


def terms(text: str) -> list[str]:
    """Distinct words of a request, at most `MAX_TERMS`: without stop words, unless there is nothing else.

    Anything that is not a letter or digit separates words: FTS5 operators, NUL, lone surrogates.
    """
    text = _spaced(text[:MAX_CHARACTERS])
    words = dict.fromkeys(word.lower() for word in _WORD.findall(f"{text} {split_identifier(text)}"))
    telling = [word for word in words if word not in STOP_WORDS]
    return (telling or list(words))[:MAX_TERMS]


def best_matches(
    connection: sqlite3.Connection, index: Index, text: str, weights: LexicalWeights, places: bytes, size: int
) -> list[tuple[int, float]]:
    """Rows and BM25 scores (> 0) of the best matches among the visible documents.

    Args:
        connection: in a read transaction.
        index: where to search.
        text: the request, as typed.
        weights: per field.
        places: four bytes per row number, big-endian: 0 for an invisible document, else its rank by id. FTS5
            computes a score only for rows that pass, and the same bytes order equal scores.
        size: how many at most.
    """
    words = terms(text)
    if not words or size <= 0:
        return []
    query = " OR ".join(f'"{word}"' for word in words)
    numbers = ", ".join(str(float(weight)) for weight in msgspec.structs.astuple(weights))
    statement = index.sql(_MATCHES).replace("{weights}", numbers)
    return connection.execute(statement, {"query": query, "places": places, "size": size}).fetchall()


def _spaced(text: str) -> str:
    if text.isascii():
        return text
    return _UNSPACED.sub(lambda run: f" {_pairs(run.group())} ", unicodedata.normalize("NFKC", text))


def _pairs(run: str) -> str:
    return " ".join(run[i : i + 2] for i in range(max(1, len(run) - 1)))
