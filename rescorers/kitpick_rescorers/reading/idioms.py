"""Requests that consist of an idiom: "we are out of milk" asks to buy some."""

from __future__ import annotations

import re

_MOST = 200
"""Characters of a request that is read so: in a longer one an idiom is as likely said by the way."""
MAY_BE_IDIOM = re.compile(
    r"\b(?:out of|low on|short of|left|me|us|a (?:line|note|shout|heads[ -]up))\b", re.IGNORECASE
)
"""Words without one of which a request has no such idiom."""
_NOTHING_TO_BUY = (
    r"(?!(?:the|my|this|that|it|here|date|sync|office|order|stock|town|control|range|bounds|scope|reach|time|ideas?"
    r"|service|band|pocket|luck)\b)"
)
_OF_A_SYSTEM = re.compile(
    r"(?:\w+ ){0,2}?(?:space|memory|ram|disk|storage|capacity|bandwidth|threads|connections|addresses|ips?"
    r"|quota|cpu|workers|file handles|file descriptors|instances)\b",
    re.IGNORECASE,
)
"""What is not bought but made more."""
_THING = rf"{_NOTHING_TO_BUY}(?P<thing>[^\W\d][\w' -]*)"
_IDIOMS = (
    (re.compile(
        rf"\A\W*(?:oh|hey|help|hi)?\W*(?:we|i)(?:['’](?:re|m|ve)|\s+(?:are|am|have))?\s+(?:(?:now|nearly|almost|all|completely)\s+)*"
        rf"(?:(?:run(?:ning)?|ran|getting)\s+)?(?:out\s+of|low\s+on|short\s+of)\s+{_THING}\W*\Z", re.I),
     "buy {}"),
    (re.compile(rf"\A\W*(?:there\s*(?:['’]s|is|are)\s+)?no\s+(?:more\s+)?{_THING}\s+left\W*\Z", re.I),
     "buy {}"),
    (re.compile(r"\A\W*(?:please\s+)?(?:take|bring|drive)\s+(?:me|us)\s+(?:back\s+)?(?:to\s+)?"
                r"(?P<thing>(?:(?<=to\s)\S.*|home\b|there\b))", re.I | re.S), "navigate to {}"),
    (re.compile(r"\bdon['’]?t\s+let\s+(?:me|us)\s+forget\s+(?:about\s+)?(?P<thing>\S.*)", re.I | re.S),
     "set a reminder: {}"),
    (re.compile(r"\b(?:(?:drop|shoot)\s+(?P<thing>(?:(?!a\b)\w+\s+){1,3}?)an?\s+(?:quick\s+|short\s+)?"
                r"(?:line|note)\b"
                r"|give\s+(?P<whom>(?:(?!a\b)\w+\s+){1,3}?)a\s+(?:shout|heads[ -]up)\b)", re.I),
     "send a message to {}"),
)  # fmt: skip
"""Idioms, and what they ask for in words that names and descriptions of APIs have."""


def in_plain_words(text: str) -> str:
    """The request with its idioms in words of APIs; the text itself if it has none, or asks a question."""
    if len(text) > _MOST or "?" in text:
        return text
    for idiom, plain in _IDIOMS:
        said = idiom.search(text)
        if said is not None:
            thing = next(found for found in said.groups() if found is not None)
            text = text[: said.start()] + _said_plainly(thing, plain) + text[said.end() :]
    return text


def _said_plainly(thing: str, plain: str) -> str:
    of_system = plain.startswith("buy") and _OF_A_SYSTEM.match(thing)
    return ("increase {}" if of_system else plain).format(thing.strip())
