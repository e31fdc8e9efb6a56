"""Keeps secrets out of messages: servers repeat in their errors what they were given."""

from __future__ import annotations

from collections.abc import Iterable

_SHOWN = "**********"
_LEAST = 8
"""Characters of a secret: shorter values, such as the level of a log, are words of messages."""


def masked(text: str, secrets: Iterable[str]) -> str:
    """The text with stars for secrets; of `Bearer SECRET` and the like also where the last word is alone."""
    words = {word for each in secrets for word in (each, each.rpartition(" ")[2]) if len(word) >= _LEAST}
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, _SHOWN)
    return text
