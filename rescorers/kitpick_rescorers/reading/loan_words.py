"""Names and loan words that a request in a language that no model reads shares with descriptions.

Words are compared by their beginnings, because other languages put endings behind them ("servery"). Scripts
without spaces between words have runs of letters instead, which are compared by every four letters, Chinese
ones by every two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from kitpick_engines.contract import Candidate
from kitpick_engines.lexical import STOP_WORDS
from kitpick_engines.text import split_identifier

_WORD = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u064b-\u0655\u0900-\u1cff])+")
"""Letters, and the signs that some scripts write beside them."""
_UNSPACED = re.compile(r"[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")
_HAN = re.compile(r"[\u3400-\u9fff]{2,}")
_BEGINNING = 5
_RUN = 4
_PAIR = 2
_LEAST = 3
_MAX_READ = 1_000
"""Characters of a request and of a description that are read."""
_MAX_TEXT = 1_400
"""The same with the names before a description."""


def beginnings(text: str, passed: Iterable[str] = ()) -> frozenset[str]:
    """Beginnings of the words of a text, without words that are too short or are passed over.

    Passed over are function words of its language, in small letters.
    """
    read = unicodedata.normalize("NFC", text[:_MAX_TEXT])
    words = {word.casefold() for word in _WORD.findall(read)} - STOP_WORDS - frozenset(passed)
    pairs = (run[at : at + _PAIR] for run in _HAN.findall(read) for at in range(len(run) - 1))
    return frozenset(part for word in words if len(word) >= _LEAST for part in _parts(word)).union(pairs)


def _parts(word: str) -> list[str]:
    if _UNSPACED.search(word) is None:
        return [word[:_BEGINNING]]
    return [word[start : start + _RUN] for start in range(max(1, len(word) - _RUN + 1))]


def sharing(asked: frozenset[str], candidates: Iterable[Candidate]) -> dict[str, int]:
    """How many of these beginnings each candidate has, by id; none that has none of them."""
    parts = ((each.id, (each.api, each.tool, each.text[:_MAX_READ])) for each in candidates if asked)
    counted = ((key, asked & beginnings(" ".join(map(split_identifier, said)))) for key, said in parts)
    return {key: len(shared) for key, shared in counted if shared}
