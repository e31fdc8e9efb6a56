"""What DRetriever and DReranker read: short forms of a question and of demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

from toolrank_rescorers.demorank.pool import Demonstration

_CHARACTERS = 120
"""Of a request and of an API: a question, two chosen demonstrations and a third fit into 256 tokens."""


def question_text(query: str, text: str) -> str:
    """A request and the text of an API."""
    return f"{_short(query)} | {_short(text)}"


def demonstration_text(item: Demonstration) -> str:
    """A question that is answered."""
    return f"{question_text(item.query, item.text)} | {'Yes' if item.useful else 'No'}"


def question_after(query: str, text: str, chosen: Sequence[Demonstration]) -> str:
    """A question and the demonstrations that were chosen for it so far, in that order."""
    return " || ".join([question_text(query, text), *map(demonstration_text, chosen)])


def _short(text: str) -> str:
    return " ".join(text[: 4 * _CHARACTERS].split())[:_CHARACTERS]
