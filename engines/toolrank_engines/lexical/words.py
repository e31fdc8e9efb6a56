"""Words: what is put into the FTS5 index, and which of a request's words are looked up in it.

FTS5 folds case and accents and stems English (Porter 1980), for documents and requests alike. Scripts without
spaces between words would be one token a sentence: runs of them become overlapping pairs of characters.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata

import numpy as np

from toolrank_engines.document import ApiDocument
from toolrank_engines.lexical.stop_words import STOP_WORDS
from toolrank_engines.text import lexical_fields, split_identifier

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
    """Gives a connection what `request_terms` needs: a private one-row index with the same tokenizer."""
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
