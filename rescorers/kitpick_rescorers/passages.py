"""Long documents, read by the passage that is nearest to the request, and not from their beginning.

A cross-encoder reads the first hundred words or so of a text. Where the text is a page of somebody's manual,
the answer may stand anywhere in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from math import log1p

from kitpick_engines.lexical import request_words

_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？])|\n+")
_WORD = re.compile(r"[^\W_]+")
_LETTERS = 5
"""How many letters of a word are compared: `copies` and `copied` are one then (truncation stemming)."""
_TITLE = 100
"""Characters of a first line that is kept before the passage: the title, as a rule."""
_LEAST = 16
"""Tokens of a passage, however long the request is."""
_PER_TOKEN = 4
"""Characters of a token, as a rule, where words have spaces between them."""
_LONG_WORDS = 20
"""Characters of a word, on average, from which on a text is one without spaces."""


def nearest_passage(request: str, text: str, tokens: int) -> str:
    """The best passage of a text: the title if it has one, then the sentences nearest to the request.

    A passage is near if it holds many of the request's words, and those that few sentences of the text hold.
    If no sentence holds any, the text stays as it is.

    Args:
        request: what is wanted, in words.
        text: of a document, of any length.
        tokens: how many of the text's tokens are read.
    """
    title, body = _title_and_body(text)
    room = max(_LEAST, tokens - _length(title))
    sentences = _sentences(body, room)
    wanted = {word[:_LETTERS] for word in request_words(request)}
    found = [wanted & _stems(sentence) for sentence in sentences]
    rarity = _rarity(found)
    if not rarity:
        return text
    lengths = [_length(sentence.strip()) for sentence in sentences]
    passages = [_passage(found, lengths, place, room) for place, held in enumerate(found) if held]

    def worth(passage: range) -> tuple[float, int]:
        """What it holds of the request; of equal ones the shortest, which says least besides."""
        held = set[str]().union(*(found[place] for place in passage))
        return sum(rarity[stem] for stem in held), -sum(lengths[place] for place in passage)

    best = max(passages, key=worth)
    return "\n".join(filter(None, (title, "".join(sentences[best.start : best.stop]).strip())))


def _title_and_body(text: str) -> tuple[str, str]:
    """The title is empty if there is none."""
    line, _, rest = text.partition("\n")
    return (line, rest) if len(line) <= _TITLE and rest.strip() else ("", text)


def _sentences(body: str, room: int) -> list[str]:
    """With the space behind each. What ends nowhere, or too late to be read whole, is cut between words."""
    found: list[str] = []
    for sentence in filter(None, map(str.strip, _ENDS.split(body))):
        per_token = _PER_TOKEN if len(sentence) < _LONG_WORDS * len(sentence.split()) else 1
        is_read = len(sentence) <= room * per_token
        found += [f"{sentence} "] if is_read else _parts(sentence, _LEAST * per_token)
    return found


def _parts(sentence: str, width: int) -> list[str]:
    """Parts of so many characters at most: of a transcript, a log, a list in one line."""
    return re.findall(rf".{{1,{width}}}(?:\s+|$)|.{{1,{width}}}", sentence)


def _stems(sentence: str) -> set[str]:
    words = _WORD.findall(sentence.lower()) if sentence.isascii() else request_words(sentence)
    return {word[:_LETTERS] for word in words}


def _rarity(found: Sequence[set[str]]) -> dict[str, float]:
    """How much a word of the request tells about sentences of this text."""
    counts = Counter(stem for held in found for stem in held)
    return {stem: log1p(len(found) / count) for stem, count in counts.items()}


def _length(text: str) -> int:
    """Tokens, roughly: of scripts without spaces each character is one."""
    return len(text) // _PER_TOKEN + 1 if text.isascii() else len(text)


def _passage(found: Sequence[set[str]], lengths: Sequence[int], start: int, room: int) -> range:
    """The sentences from one on that are read, up to the last one that holds a word of the request."""
    last = start
    for place in range(start, len(found)):
        if room <= 0:
            break
        last = place if found[place] else last
        room -= lengths[place]
    return range(start, last + 1)
