"""Recognises the language of a short text by the glossary: "zatrzymaj serwer" has no common word.

A word speaks for a language if the glossary of all languages knows it there (longer lists of one language
have too many beginnings of English words), by a stem that does not begin as its English
meaning does, and if it is no English word that only looks like it (`english.txt`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import resources
from types import MappingProxyType

from kitpick_rescorers.reading.glossary import LANGUAGES as ALL
from kitpick_rescorers.reading.glossary import UNSPACED, folded, known_stem, of_compound
from kitpick_rescorers.reading.spelling import Suspect, corrections
from kitpick_rescorers.reading.verbs import ACTION_WORDS, ACTIONS, verb_stem

LANGUAGES = tuple(language for language in ALL if language not in UNSPACED and language not in ("ru", "ar"))
"""Languages in Latin script."""
MOST_WORDS = 12
_WORD = re.compile(r"[^\W_]+")
_SAME = 3
"""Letters with which a loan word begins as its English meaning does."""
_LEAST = 4
_INFINITIVES = {
    "de": ("en", "n"),
    "nl": ("en",),
    "es": ("ar", "ir"),
    "pt": ("ar", "ir"),
    "it": ("are", "ire"),
}
"""How verbs end that English does not know."""
_VERBS = dict.fromkeys(ACTION_WORDS, 1)


def language_of_few(text: str, common: Mapping[str, int] = MappingProxyType({}), least: int = 1) -> str:
    """The language for which the words of a short text speak; empty if none does, or it has many words.

    `common` says how many function words speak for each language; `least` other words must do so.
    """
    words = [word for word in _WORD.findall(text) if not any(letter.isdigit() for letter in word)]
    if not 0 < len(words) <= MOST_WORDS:
        return ""
    worth = {language: _worth(words, language, common.get(language, 0), least) for language in LANGUAGES}
    best = max(worth, key=lambda language: worth[language])
    return best if worth[best] > (0, 0) else ""


def likeliest(text: str, languages: Sequence[str]) -> str:
    """The language, of these, of which the glossary knows most letters; the first of equals."""
    if len(languages) == 1:
        return languages[0]
    words = [word for word in _WORD.findall(text) if word.isalpha()]
    return max(
        languages, key=lambda each: sum(len(known_stem(folded(word, each), each)[0]) for word in words)
    )


def _worth(words: list[str], language: str, common: int, least: int = 1) -> tuple[int, int]:
    """How many words speak for a language, and their letters; zeros if more are unknown than speak."""
    speak, letters, unknown = common, 0, -common
    beside = common and common >= len(words) - 1
    for word in words:
        plain = folded(word, language)
        stem, meaning = known_stem(plain, language, shared=True)
        if not stem and not (beside and of_compound(plain, language)):
            unknown += 1
        elif not stem:
            speak += 1
            letters += len(plain)
        elif speaks(plain, stem, meaning) or _is_foreign(word, plain, stem, meaning, language):
            speak += 1
            letters += len(stem)
    return (speak, letters) if speak - common >= least and unknown <= speak else (0, 0)


def speaks(word: str, stem: str, meaning: str) -> bool:
    """Whether a word tells the language whose stem it has."""
    long_enough = len(stem) >= _LEAST or (stem == word and len(stem) >= _SAME)
    return (
        long_enough
        and stem[:_SAME] != meaning[:_SAME]
        and word not in _english()
        and not (len(word) > len(stem) + 1 and _is_slip(word))
    )


def _is_foreign(word: str, plain: str, stem: str, meaning: str, language: str) -> bool:
    """Whether a loan word is written or bent as English does not: "créer", "starten"."""
    if len(stem) < _LEAST or plain in _english():
        return False
    bent = plain[len(stem) :] in _INFINITIVES.get(language, ()) and verb_stem(meaning) in ACTIONS
    return bent or (word[0].islower() and not word.isascii())


@lru_cache(maxsize=1_024)
def _is_slip(word: str) -> bool:
    """Whether a word is a verb of requests but for one slip: "cancle"."""
    return word.isascii() and bool(corrections([Suspect(word, 0, len(word))], _VERBS))


@lru_cache(maxsize=1)
def _english() -> frozenset[str]:
    """English words that begin as a word of another language does."""
    return frozenset((resources.files(__package__) / "english.txt").read_text("utf-8").split())
