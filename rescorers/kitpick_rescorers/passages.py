"""Long documents, read by the passage that is nearest to the request, and not from their beginning.

A cross-encoder reads the first hundred words or so of a text. Where the text is a page of somebody's manual,
the answer may stand anywhere in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import fsum, log1p

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
_CHECKED = 1_000
"""Sentences between two checks."""
_LONG_WORDS = 20
"""Characters of a word, on average, from which on a text is one without spaces."""


def nearest_passage(request: str, text: str, tokens: int, check: Callable[[], None] = lambda: None) -> str:
    """The best passage of a text: the title if it has one, then the sentences nearest to the request.

    A passage is near if it holds many of the request's words, and those that few sentences of the text hold.
    If no sentence holds any, the text stays as it is.

    So many tokens are read of a text. `check` is called again and again; what it raises ends the reading.
    """
    title, body = _title_and_body(text)
    room = max(_LEAST, tokens - _length(title))
    sentences = _sentences(body, room)
    wanted = {word[:_LETTERS] for word in request_words(request)}
    found = [wanted & _stems(sentence) for sentence in _checked(sentences, check)]
    if not any(found):
        return text
    best = _best(found, [_length(sentence.strip()) for sentence in sentences], room)
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


def _best(found: Sequence[set[str]], lengths: Sequence[int], room: int) -> range:
    """The sentences that hold most of the request; of equal passages the shortest, which says least besides.

    A passage begins and ends with a sentence that holds a word of the request. They are gone through once,
    with what is read from a sentence on: a manual has many thousands.
    """
    rarity, ends = _rarity(found), list(accumulate(lengths, initial=0))
    inside: Counter[str] = Counter()
    stop, last, best, most = 0, 0, range(0), (-1.0, 0)
    for start, held in enumerate(found):
        while stop < len(found) and ends[stop] - ends[start] < room:
            inside.update(found[stop])
            last = stop if found[stop] else last
            stop += 1
        if held:
            worth = fsum(rarity[stem] for stem in +inside), ends[start] - ends[last + 1]
            best, most = (range(start, last + 1), worth) if worth > most else (best, most)
        inside.subtract(held)
    return best


def _checked(sentences: Sequence[str], check: Callable[[], None]) -> Iterator[str]:
    for place, sentence in enumerate(sentences):
        if place % _CHECKED == 0:
            check()
        yield sentence
