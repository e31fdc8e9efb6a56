"""Recognises languages in Latin script that no glossary reads, to name them in answers (`unread.txt`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import NamedTuple


class Unread(NamedTuple):
    """What tells a language."""

    name: str
    marks: str
    """Letters that none of the other languages has."""
    letters: frozenset[str]
    """All its letters beyond those of English."""
    words: frozenset[str]
    """Function words."""
    deeds: frozenset[str]
    """Words with which requests begin, none of them English: one of them is enough."""


@lru_cache(maxsize=1)
def unread_languages() -> Mapping[str, Unread]:
    """Languages by their codes of ISO 639-1; languages that are much alike have one entry."""
    text = (resources.files(__package__) / "unread.txt").read_text("utf-8")
    rows = (line.split("|") for line in text.splitlines() if line and not line.startswith("#"))
    return {
        code: Unread(name, marks, frozenset(letters), frozenset(words.split()), frozenset(deeds.split()))
        for code, name, marks, letters, words, deeds in rows
    }
