"""What the name of an API says: its deed, its things, its version."""

from __future__ import annotations

import re

from kitpick_engines.contract import Candidate
from kitpick_engines.lexical import STOP_WORDS
from kitpick_engines.text import split_identifier
from kitpick_rescorers.reading.names import name_key
from kitpick_rescorers.reading.verbs import ACTIONS, deed_of_name, deeds, stems_of, verb_stem

_VERSION = re.compile(
    r"(?:^|[\W_])v(?:ersion)?[\W_]?(\d{1,9})(?=$|[\W_])|(?<=[a-z])V(\d{1,9})(?![a-z0-9])|(?<=[A-Za-z])(\d)$"
)
_DIGITS = re.compile(r"[vV]?\d+")
SMALL = frozenset(map(verb_stem, STOP_WORDS)) | {"via", "one", "please"}
_WHICH = ("old", "whole", "entire", "unused", "current", "first", "last", "latest")
_SAYS_WHICH = SMALL | frozenset(map(verb_stem, _WHICH))
"""Stems that a request has beside a deed and its thing."""


def plain_stems(text: str) -> frozenset[str]:
    """Stems of the words of a text but for small ones, of verbs that mean one deed the first of them."""
    said = frozenset(stems_of(split_identifier(text))) - _SAYS_WHICH
    return frozenset(min(deeds(frozenset({stem}))) for stem in said)


def last_part(api: str) -> str:
    """An API's name without what stands before its last full stop."""
    return api.rpartition(".")[2] or api


def deed_of(candidate: Candidate) -> str:
    """Stem of what an API's name does; empty if it has no verb."""
    return deed_of_name(name_stems(candidate))


def things_of(candidate: Candidate) -> frozenset[str]:
    """Stems of what an API's name is about: its words but for its first verb."""
    words = name_stems(candidate)
    deed = next((place for place, stem in enumerate(words) if stem in ACTIONS), len(words))
    return frozenset((*words[:deed], *words[deed + 1 :])) - SMALL


def ended_by(candidate: Candidate) -> frozenset[str]:
    """Stems of what an ending deed is done to: `remove_from_cart` ends no cart."""
    words = name_stems(candidate)
    place = words.index("from") if "from" in words else len(words)
    return things_of(candidate) - frozenset(words[place:])


def words_of(candidate: Candidate) -> frozenset[str]:
    """Stems of all words of an API's name."""
    return frozenset(name_stems(candidate))


def name_stems(candidate: Candidate) -> tuple[str, ...]:
    """Stems of the words of an API's name, without what stands before its last full stop."""
    return stems_of(split_identifier(last_part(candidate.api)))


def things_named(candidate: Candidate) -> frozenset[str]:
    """Stems of all words of an API's name but for its verbs."""
    return frozenset(stems_of(split_identifier(candidate.api))) - ACTIONS - SMALL


def version_of(candidate: Candidate) -> str:
    """The number of an API's version, by its name or else by what it says of itself; empty for none."""
    for text in (candidate.api, candidate.text[:300]):
        found = _VERSION.search(text)
        if found is not None:
            return str(int(next(part for part in found.groups() if part)))
    return ""


def versionless(api: str) -> str:
    """The key of a name without the numbers of its version."""
    return name_key(_DIGITS.sub("", api))


def misfit(candidate: Candidate, wanted: frozenset[str], others: frozenset[str]) -> int:
    """How far an API's version is from those that are wanted and those that are ruled out; 0 if wanted."""
    version = version_of(candidate)
    if version in others:
        return 3
    if version in wanted:
        return 0
    return 1 if not version else 2
