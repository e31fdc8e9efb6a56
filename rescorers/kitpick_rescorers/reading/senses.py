"""Words that a request uses in another sense than APIs do: "book a table for two" is not about a database.

If a request has one of a few expressions, an API that merely has the same word does not answer it: without a
candidate that is about the same subject, the catalog counts as having nothing for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kitpick_rescorers.reading.languages import unquoted
from kitpick_rescorers.reading.verbs import stems_of, verb_stem

_MOST_WORDS = 10
"""Most words of a request that such an expression decides: a longer one wants something else as well."""
_MAX_READ = 200
_MAX_TEXT = 1_000


MAY_MEAN_OTHERWISE = re.compile(r"\b(?:table|bucket|queue|line|keys?|role|part)\b", re.IGNORECASE)
"""Every such expression has one of these words."""


class Sense(NamedTuple):
    """An expression, and words of which a text about it has at least one."""

    found: re.Pattern[str]
    what: str
    """What the request speaks of, as a reason says it."""
    evidence: frozenset[str]
    """Stems of words that something about it has."""


def _sense(pattern: str, what: str, evidence: str) -> Sense:
    stems = frozenset(map(verb_stem, evidence.split()))
    return Sense(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), what, stems)


_A = r"(?:(?:a|an|the|our|my|this|that|some)\s+)?"
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|[2-9]|1\d)"
_MEAL = (
    r"for\s+(?:dinner|lunch|breakfast|brunch|tonight"
    rf"|{_NUMBER}(?=\W*$|[,.;!?]|\s+(?:at|on|in|near|tonight|today|tomorrow|this|please|people|persons|guests)\b))"
)
SENSES = (
    _sense(
        rf"(?:book|reserve|get|find|want|need)\s+(?:us\s+|me\s+)?{_A}table\s+(?:{_MEAL}|tonight|at\s+[a-z]+['’]?s)"
        rf"|restaurant\s+table|table\s+{_MEAL}|(?:set|lay|clear)\s+the\s+table\s+(?:{_MEAL}|tonight)",
        "a table to eat at",
        "restaurant dine dining dinner lunch meal seat seating diner eat food venue",
    ),
    _sense(
        r"(?:bring|put)\s+(?:something|anything|nothing|a\s+lot|more)\s+to\s+the\s+table"
        r"|kick(?:ed|ing|s)?\s+the\s+bucket|a\s+drop\s+in\s+the\s+bucket|hole\s+in\s+(?:my|the)\s+bucket",
        "something else than a table or a bucket: it is an idiom",
        "idiom proverb phrase dictionary",
    ),
    _sense(
        r"(?:jump|skip|stand(?:ing)?\s+in|wait(?:ing)?\s+in|cut)\s+(?:a\s+|the\s+)?(?:queue|line)\s+(?:at|in\s+front\s+of)",
        "a queue of people",
        "visitor ticket admission amusement attraction",
    ),
    _sense(
        r"(?:a|my|our)\s+bucket\s+list\s+(?:for|before|of\s+things)|bucket\s+and\s+(?:a\s+)?(?:mop|spade|brush)|mop\s+and\s+(?:a\s+)?bucket",
        "a bucket of everyday life",
        "wish travel trip household shop cart",
    ),
    _sense(
        r"(?:role|part)\s+in\s+(?:a|an|the|this|that)\s+(?:movie|film|play|musical|series|show|opera)",
        "a role to be played",
        "actor actress movie film theatre theater audition",
    ),
    _sense(
        r"keys?\s+(?:is|are|got|was)?\s*(?:stuck\s+)?(?:in|to|for|of)\s+(?:the|my|our|a)\s+(?:lock|door|front\s+door|car|house|flat|bike)",
        "a key of metal",
        "door car house vehicle",
    ),
)  # fmt: skip
"""Expressions that are told; each with the words of what they are about."""


def other_sense(text: str, texts: Iterable[str]) -> str:
    """Why nothing here is meant, where a request uses a word in a sense that no text is about; else empty."""
    read = unquoted(text) if len(text) <= _MAX_READ else ""
    if len(read.split()) > _MOST_WORDS:
        return ""
    said = [sense for sense in SENSES if sense.found.search(read)]
    if not said:
        return ""
    held = frozenset(stem for each in texts for stem in stems_of(each[:_MAX_TEXT]))
    missing = (sense.what for sense in said if not sense.evidence & held)
    return next((f"the request speaks of {what}, and nothing found does" for what in missing), "")
