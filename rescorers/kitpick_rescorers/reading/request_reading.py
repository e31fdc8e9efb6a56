"""The reading of a request: names that it holds, what it rules out, and the words to search with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol, runtime_checkable

import msgspec

from kitpick_engines.lexical import STOP_WORDS
from kitpick_engines.sentences import MAX_SENTENCES, sentences_of
from kitpick_engines.text import has_utf8
from kitpick_rescorers.reading.foreign_negation import split_foreign
from kitpick_rescorers.reading.glossary import UNSPACED, gloss
from kitpick_rescorers.reading.idioms import MAY_BE_IDIOM, in_plain_words
from kitpick_rescorers.reading.languages import ENGLISH, NAMES, language_of
from kitpick_rescorers.reading.names import names_in, whole_name
from kitpick_rescorers.reading.negation import split_ruled_out
from kitpick_rescorers.state import LONG_REQUEST, Degradation

_VERSION = re.compile(r"(?<![\w.])(?:version|v)\s?\.?(\d{1,4})(?![\w.]*\d)", re.IGNORECASE)
_VERSION_OF_CALL = re.compile(
    r"[,(]?\s*(?:(?:by|in|with|using)\s+)?(?:the\s+)?(?:version|v)\s?\.?\d{1,4}\s+of\s+(?:the|this|that)\s+"
    r"(?:call|api|operation|method|endpoint|function)\b\)?",
    re.IGNORECASE,
)
"""What says which version of an API is wanted, and nothing of what it does."""
_MAX_READ = 4_000
_PARTED = ": "
"""Stands between the English words and those of the request."""
_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])|\n+")
"""Ends of sentences in the languages that a glossary has."""
_LEAST_ENGLISH = 2
"""English words that a sentence of another language needs, to be searched by itself."""
_ENOUGH = 3
"""English words from which on they say more than a script that the models cannot read."""
_WORD = re.compile(r"[^\W_]+")
_MAY_RULE_OUT = re.compile(
    r"\b(?:not|no|nor|never|none|nothing|nobody|dont|without|avoid(?:ing)?|instead|rather|opposed|lieu"
    r"|keep(?:ing)?|preserve|retain|leav(?:e|ing)|donot|w/o|refrain(?:ing)?|forbidden|prohibited"
    r"|off limits)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words without one of which nothing is ruled out."""
_GAP = re.compile(r"\s{9,}")
MAX_READ = 20_000
"""Characters of a request that are read: the beginning and the end of a longer one, such as a pasted log."""
_END = 4_000
"""How many of them are from its end: the request often stands behind pasted text."""


class Reading(msgspec.Struct, frozen=True):
    """What a request says, read without the catalog."""

    searched: str
    """What is searched and scored: the request without what it rules out."""
    ruled_out: tuple[str, ...] = ()
    """What it rules out, in its words."""
    whole: tuple[str, ...] = ()
    """The request as a name, where it is short enough to be one."""
    names: tuple[str, ...] = ()
    """What it holds in quotes or as code."""
    versions: frozenset[str] = frozenset()
    """Numbers of versions that it wants."""
    other_versions: frozenset[str] = frozenset()
    """Numbers of versions that it rules out."""
    lacks: str = ""
    """Why nothing can be found for it: it has no words, or none that says something; empty otherwise."""
    language: str = ENGLISH
    """Code of its language."""
    english: tuple[str, ...] = ()
    """For another language, the English words that a glossary has for it."""

    by_encoder: bool = False
    """Whether the encoder that embedded it says that it reads its language, which nothing shipped reads."""

    @property
    def wanted(self) -> str:
        """What is wanted, in the request's own words."""
        return self.searched[len(" ".join(self.english)) + len(_PARTED) :] if self.english else self.searched

    @property
    def embedded(self) -> str:
        """What models read: in a script of which they know single letters only, the English words alone."""
        unread = self.language in UNSPACED and len(self.english) >= _ENOUGH
        return " ".join(self.english) if unread else self.searched

    @property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences as models read them, each of another language beside its own English words.

        None of a single sentence, and none where only one of them can be read.
        """
        if not self.english:
            return sentences_of(self.embedded)
        parts = [part.strip() for part in _ENDS.split(self.wanted)]
        glossed = [(gloss(part, self.language), part) for part in parts if part]
        known = [each for each in glossed if len(each[0]) >= _LEAST_ENGLISH][:MAX_SENTENCES]
        alone = self.language in UNSPACED
        found = tuple(" ".join(english) if alone else _beside(english, own) for english, own in known)
        return found if len(found) > 1 else ()

    @property
    def foreign(self) -> str:
        """Name of its language; empty for English."""
        return "" if self.language == ENGLISH else NAMES[self.language]

    @property
    def unread(self) -> bool:
        """Whether it is in another language, and the glossary has no word of it: no model reads it."""
        return self.language != ENGLISH and not self.english


def _beside(english: Sequence[str], own: str) -> str:
    return f"{' '.join(english)}{_PARTED}{own}"


def shortened(text: str, most: int = MAX_READ, end: int = _END) -> str:
    """A text of at most `most` characters: its beginning, and the last `end` in a line of their own."""
    if len(text) <= most:
        return text
    return f"{text[: most - end - 1]}\n{text[-end:]}"


def as_read(request: str) -> tuple[str, tuple[Degradation, ...]]:
    """A request as far as it is read, and what the answer says of the rest.

    Half of a pair of surrogates, as a text that was cut has it, is no character, and is read as U+FFFD.
    """
    if not has_utf8(request):
        request = request.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(request) <= MAX_READ:
        return request, ()
    said = _GAP.sub("\n", request.strip())  # where nothing is said, nothing is read
    if len(said) <= MAX_READ:
        return said, ()
    reason = (
        f"{len(request):,} characters: the first {MAX_READ - _END:,} and the last {_END:,} were read: "
        "say in fewer words what is wanted"
    )
    return shortened(said), (Degradation(LONG_REQUEST, reason),)


@runtime_checkable
class BoundedReader(Protocol):
    """A model that reads no more than so many tokens of a request."""

    def reads_at_most(self, text: str, /) -> int:
        """How many tokens it reads of a request that is too long for it; 0 where it reads all of it."""


def cut_by(reader: object, name: str, text: str) -> tuple[Degradation, ...]:
    """What an answer says of a request that a model cannot read to its end; nothing if it can."""
    most = reader.reads_at_most(text) if isinstance(reader, BoundedReader) else 0
    if not most:
        return ()
    reason = f"the {name} reads the first {most} tokens of it at most: say in fewer words what is wanted"
    return (Degradation(LONG_REQUEST, reason),)


@runtime_checkable
class LanguageReader(Protocol):
    """A model that says which languages it reads."""

    def reads_language(self, language: str, /) -> bool:
        """Whether it reads a language, named by its code."""


def is_read_by(reader: object, reading: Reading) -> bool:
    """Whether a model says that it reads a request which nothing shipped reads."""
    return reading.unread and isinstance(reader, LanguageReader) and reader.reads_language(reading.language)


@runtime_checkable
class PairReader(BoundedReader, Protocol):
    """A model that reads a request beside a text, and may have room for a part of it only."""

    def request_read(self, query: str, texts: Sequence[str], /) -> list[int]:
        """How many tokens of the request it reads beside each text."""


def cut_beside(reader: object, name: str, query: str, texts: Sequence[str]) -> tuple[Degradation, ...]:
    """What an answer says of a request that a model cannot read to its end beside some of the texts."""
    told = cut_by(reader, name, query)
    if told or not texts or not isinstance(reader, PairReader):
        return told
    whole, *read = reader.request_read(query, ["", *texts])
    short = [tokens for tokens in read if tokens < whole]
    if not short:
        return ()
    reason = (
        f"beside {len(short)} of {len(texts)} texts, which are long, the {name} reads only the first "
        f"{min(short)} of its {whole} tokens: say in fewer words what is wanted"
    )
    return (Degradation(LONG_REQUEST, reason),)


@lru_cache(maxsize=256)
def read_request(text: str) -> Reading:
    """Reads a request. Takes well under a millisecond, however long the request is."""
    language = language_of(text)
    if language != ENGLISH:
        wanted, out = split_foreign(text, language)
    else:
        plain = in_plain_words(text) if MAY_BE_IDIOM.search(text[:_MAX_READ]) else text
        wanted, out = split_ruled_out(plain) if _MAY_RULE_OUT.search(plain) else (plain, ())
    versions = _versions(wanted)
    if versions and (bare := _VERSION_OF_CALL.sub("", wanted[:_MAX_READ])).strip():
        wanted = bare + wanted[_MAX_READ:]
    english = () if language == ENGLISH else gloss(wanted, language)
    return Reading(
        searched=_beside(english, wanted) if english else wanted,
        ruled_out=out,
        whole=_whole(text, versions),
        names=names_in(wanted),
        versions=versions,
        lacks=_lack(text) if language == ENGLISH else "",
        other_versions=_versions(" ".join(out)),
        language=language,
        english=english,
    )


def _whole(text: str, versions: frozenset[str]) -> tuple[str, ...]:
    """The request as a name, also without the version that it wants: "list objects, version 1"."""
    whole = whole_name(text)
    bare = whole_name(_VERSION.sub("", text)) if whole and versions else ()
    return tuple(dict.fromkeys((*whole, *bare)))


def _lack(text: str) -> str:
    """What is missing in a request that says neither a deed nor a thing."""
    words = _WORD.findall(text[:_MAX_READ])
    if not words and text.strip():
        return "the request has no words, only signs: say in words what is to be done"
    if words and len(text) <= _MAX_READ and all(word.lower() in STOP_WORDS for word in words):
        return f"the request has only words such as {words[0]!r}, which name no deed and no thing"
    return ""


def _versions(text: str) -> frozenset[str]:
    return frozenset(str(int(number)) for number in _VERSION.findall(text[:_MAX_READ]))
