"""Small talk in the languages of the glossary, whatever language it was taken for (`small_talk.txt`)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import resources

from kitpick_engines.contract import Candidate
from kitpick_rescorers.reading.glossary import UNSPACED
from kitpick_rescorers.reading.out_of_reach import ABOUT_TALK, MOST_TALK, SAYS_NOTHING, as_text

_MOST = 80
_WORD = re.compile(r"[^\W_]+")


def _lines() -> Mapping[str, tuple[str, ...]]:
    """The expressions of each language."""
    text = (resources.files(__package__) / "small_talk.txt").read_text("utf-8")
    rows = [line.partition("|") for line in text.splitlines() if not line.startswith("#")]
    return {language: tuple(said for each, _, said in rows if each == language) for language, _, _ in rows}


_LINES = _lines()
_WORDS = {
    language: frozenset("".join(said) if language in UNSPACED else _WORD.findall(" ".join(said)))
    for language, said in _LINES.items()
}
"""The words of each language's expressions; of one without spaces between words, its signs."""
TALK_WORDS = frozenset().union(*_WORDS.values())
"""Small talk begins with one of these: with a word, or with a sign."""


def small_talk(text: str, found: Iterable[Candidate]) -> str:
    """Why a request in another language asks for nothing: it is small talk and no more; empty otherwise.

    Args:
        text: what is wanted, in its own words.
        found: the candidates. Where one of them is about talk, the request may mean it.
    """
    read = unicodedata.normalize("NFC", text[: _MOST + 1]).strip()
    if len(read) > _MOST or not any(_expressions(each).fullmatch(read) for each in _languages(read)):
        return ""
    return "" if any(ABOUT_TALK.search(as_text(each)) for each in found) else SAYS_NOTHING


def _languages(text: str) -> list[str]:
    """Languages of whose small talk all words of a text are."""
    words = frozenset(_WORD.findall(text.lower()))
    signs = frozenset("".join(words))
    return [
        language for language, known in _WORDS.items() if known >= (signs if language in UNSPACED else words)
    ]


@lru_cache(maxsize=len(UNSPACED) + 3)
def _expressions(language: str) -> re.Pattern[str]:
    """One expression or several, with signs between them; where words have no spaces, without, too."""
    one = "|".join(_LINES[language]).replace(" ?", r"\s?").replace(" ", r"\s+")
    between = r"\W*" if language in UNSPACED else r"\W+"
    more = rf"(?:{between}(?:{one})){{0,{MOST_TALK - 1}}}"
    return re.compile(rf"\W*(?:{one}){more}\W*", re.IGNORECASE)
