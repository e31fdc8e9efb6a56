"""Turns the summary of an operation into a clause of a request: "Returns a user" → "get a user"."""

from __future__ import annotations

import re
from importlib import resources

_VERBS = frozenset((resources.files(__package__) / "verbs.txt").read_text("utf-8").split())
"""Verbs that a summary may begin with, in their basic form."""
_ASKING = {"return": "get", "retrieve": "get", "view": "show", "request": "request", "read": "get"}
"""Verbs of an API's point of view, and what somebody who asks would say."""
_LEAD_IN = re.compile(
    r"^(?:this|the)\s+(?:api|endpoint|method|operation|resource|call|request|service|function|page)\s+"
    r"(?:can be used to|is used to|allows (?:you|users?) to|lets you|will|is for)?\s*|"
    r"^(?:use this (?:\w+) to|allows (?:you|users?) to|used to|api to|endpoint to)\s+",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\]'\"])[.!?:;](?:\s|$)|\n")
_NOISE = re.compile(r"\s*[\[(][^\])]{0,80}[\])]|[*_`#|]+|https?://\S+|<[^>]{1,100}>")
MIN_WORDS, MAX_WORDS = 2, 18


def first_sentence(prose: str) -> str:
    """Text up to the first end of a sentence, without markup, brackets and links."""
    return " ".join(_NOISE.sub(" ", _SENTENCE_END.split(prose.strip(), maxsplit=1)[0]).split()).strip(
        " .,:;-"
    )


def clause(prose: str) -> str | None:
    """An imperative clause in lower-case start, or None where the text is too short or too long to be one."""
    words = _LEAD_IN.sub("", first_sentence(prose)).split()
    if not MIN_WORDS <= len(words) <= MAX_WORDS:
        return None
    verb = _imperative(words[0])
    if verb is None:
        return "get " + " ".join([_lowered(words[0]), *words[1:]])
    return " ".join([_ASKING.get(verb, verb), *words[1:]])


def _imperative(word: str) -> str | None:
    """`Retrieves` → `retrieve`, `Searches` → `search`, `Copies` → `copy`; None for what is no known verb."""
    lower = word.lower()
    forms = (lower, lower.removesuffix("s"), lower.removesuffix("es"), re.sub("ies$", "y", lower))
    gerund = (lower.removesuffix("ing"), re.sub("ing$", "e", lower))
    return next((form for form in (*forms, *gerund) if form in _VERBS), None)


def _lowered(word: str) -> str:
    """Lower case unless the word is an acronym or a name with inner capitals."""
    return word.lower() if word[1:].islower() or len(word) == 1 else word


def without_clause(description: str, summary: str) -> str:
    """The description with the summary cut out of its beginning, so that the answer is not the question."""
    plain = description.strip()
    if plain.lower().startswith(summary.strip().lower().rstrip(".")):
        return plain[len(summary.strip().rstrip(".")) :].lstrip(" .,:;-\n")
    return plain
