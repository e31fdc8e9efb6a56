"""Words that are spelt wrongly, and the words of the catalog that they stand for.

The words that a word is compared with are those of the candidates that a first search found: of what the
caller may see, and near to what is wanted. No word is changed that the encoder's vocabulary or the catalog
has, nor a name, a number, an address or what stands in quotes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from kitpick_rescorers.reading.names import QUOTED
from kitpick_rescorers.reading.verbs import ACTION_WORDS

MAX_SUSPECTS = 6
"""Words of a request that are corrected at most."""
_MAX_READ = 2_000
"""Characters of a request that are looked at."""
_MAX_TEXT = 1_000
"""Characters of each candidate's text that are read."""
_LEAST, _MOST = 4, 24
_FOUR = 4
"""Letters of a word in which only an exchange of two counts as a slip: too many words are near it."""
_SHORT = 8
"""Letters up to which a word has one slip; longer ones may have two."""
_COLLOQUIAL_WORDS = """
agen ain arent bcoz cant coulda couldnt coz cud cuz didnt doesnt dont dunno gimme gonna gotta hasnt
havent heya hiya innit isnt kinda lemme lets lite nite nope nothin okay okey peeps pls plz ppl shoulda
shouldnt shud somethin sorta sumthin thanx thats theyre thnx tho thru tmr tmrw tonite wanna wasnt whats
wont wotsit woulda wouldnt wud yeah yep youre
"""
_COLLOQUIAL = frozenset(_COLLOQUIAL_WORDS.split())
"""How people write on purpose."""

_TOKEN = re.compile(r"\S+")
_PLAIN = re.compile(r"^[('\"]?([A-Za-z]{%d,%d})(?:[.,;:!?)'\"]+|['’]s[.,;:!?]*)?$" % (_LEAST, _MOST))  # noqa: UP031
_QUOTES = "\"'`“«「"
_WORD = re.compile(r"[a-z]{%d,%d}" % (_LEAST, _MOST))  # noqa: UP031


class Suspect(NamedTuple):
    """A word that may be spelt wrongly, and where it stands."""

    word: str
    start: int
    end: int


def suspects(text: str, is_known: Callable[[str], bool]) -> list[Suspect]:
    """The words of a request that nothing knows, at most `MAX_SUSPECTS`; none where most are unknown.

    A request of mostly unknown words is in another language, and not spelt wrongly.
    """
    found: list[Suspect] = []
    seen, read = 0, text[:_MAX_READ]
    quoted = [each.span() for each in QUOTED.finditer(read) if each.group() != read.strip()]
    for token in _TOKEN.finditer(read):
        plain = _PLAIN.match(token.group())
        if plain is None or any(start <= token.start() < end for start, end in quoted):
            continue
        seen += 1
        word = plain[1]
        named = word[0].isupper() and text[: token.start()].strip()
        lower = word.lower()
        if token.group()[0] in _QUOTES or named or word.isupper() or lower in _COLLOQUIAL or is_known(lower):
            continue
        start = token.start() + plain.start(1)
        found.append(Suspect(word, start, start + len(word)))
    return found[:MAX_SUSPECTS] if len(found) <= max(2, seen // 2) else []


def words_of(texts: Iterable[str]) -> Counter[str]:
    """The words of texts, in lower case, each with how many texts have it; and verbs of requests."""
    said = (set(_WORD.findall(text[:_MAX_TEXT].lower())) for text in texts)
    return Counter(chain(chain.from_iterable(said), ACTION_WORDS))


def corrections(found: Sequence[Suspect], words: Mapping[str, int]) -> dict[str, str]:
    """The nearest word for each suspect that has one, by suspect; a word that is there stays as it is.

    One slip (a letter too many, too few, wrong, or two exchanged) in a word of up to eight letters, two in a
    longer one; in one of four letters only an exchange. Of equally near words one with the same first letter,
    which few slips change, then the one that more texts have, then the first by alphabet.
    """
    by_start: dict[str, list[str]] = {}
    for word in words:
        by_start.setdefault(word[0], []).append(word)
    right = {}
    for suspect in found:
        lower = suspect.word.lower()
        if lower in words:
            continue
        most = 1 if len(lower) <= _SHORT else 2
        near = [
            (slips, word[0] != lower[0], -words[word], word)
            for word in (*by_start.get(lower[0], ()), *by_start.get(lower[1], ()))
            if abs(len(word) - len(lower)) <= most * (len(lower) > _FOUR)
            and (len(lower) > _FOUR or sorted(word) == sorted(lower))
            and (slips := _slips(lower, word, most)) <= most
        ]
        if near:
            right[suspect.word] = min(near)[3]
    return right


def respelt(text: str, found: Sequence[Suspect], right: Mapping[str, str]) -> str:
    """The text with its suspects corrected; a capital stays one."""
    parts, last = [], 0
    for suspect in found:
        better = right.get(suspect.word)
        if better is not None:
            written = better.capitalize() if suspect.word[0].isupper() else better
            parts += [text[last : suspect.start], written]
            last = suspect.end
    return "".join((*parts, text[last:]))


def _slips(one: str, other: str, most: int) -> int:
    """Optimal string alignment distance (Damerau 1964, restricted), or more than `most`."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, start=1):
        now = [row]
        for column, wanted in enumerate(other, start=1):
            best = min(last[column] + 1, now[column - 1] + 1, last[column - 1] + (letter != wanted))
            swapped = row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == wanted
            now.append(min(best, before[column - 2] + 1) if swapped else best)
        if min(now) > most:
            return most + 1
        before, last = last, now
    return last[-1]
