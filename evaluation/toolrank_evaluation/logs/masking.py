"""Secrets and personal data in requests, replaced by what they were; names of people stay."""

from __future__ import annotations

import re
from collections.abc import Callable

_RULES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("key", re.compile(r"-----BEGIN [A-Z ]{2,40}-----.*?(?:-----END [A-Z ]{2,40}-----|$)", re.DOTALL)),
    ("token", re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}")),
    ("token", re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs]|hf|npm|pypi)[-_][\w-]{12,}")),
    ("token", re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}")),
    ("token", re.compile(r"(?i)(?<=bearer )[\w.~+/=-]{8,}")),
    (
        "secret",
        re.compile(
            r"(?i)(?<![\w-])(?:password|passwd|pwd|secret|api[_ -]?key|token)(?:\s+is\s+|\s*[:=]\s*)(\S+)"
        ),
    ),
    ("credentials", re.compile(r"(?<=://)[^\s/@:]+:[^\s/@]+(?=@)")),
    ("email", re.compile(r"[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+")),
    ("iban", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")),
    ("ip", re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b|\b(?:[0-9a-fA-F]{1,4}:){4,7}[0-9a-fA-F]{1,4}\b")),
    ("token", re.compile(r"\b(?=[\w+/-]*\d)(?=[\w+/-]*[A-Za-z])[A-Za-z0-9+/_-]{32,}={0,2}")),
)
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+|00)\d(?:[ ()./-]{0,2}\d){6,14}(?!\d)|(?<![\w.])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\d)"
)
_DATE_LIKE = re.compile(r"^\d{4}-\d{2}-\d{2}")


def masked(text: str) -> str:
    """The text with `<email>`, `<phone>`, `<card>`, `<token>` … where such things stood."""
    for name, pattern in _RULES:
        text = pattern.sub(_replacing(name), text)
    text = _CARD.sub(lambda found: "<card>" if _luhn(found[0]) else found[0], text)
    return _PHONE.sub(lambda found: found[0] if _DATE_LIKE.match(found[0]) else "<phone>", text)


def _replacing(name: str) -> Callable[[re.Match[str]], str]:
    def replace(found: re.Match[str]) -> str:
        if not found.re.groups:
            return f"<{name}>"
        start, end = found.start(1) - found.start(), found.end(1) - found.start()
        return f"{found[0][:start]}<{name}>{found[0][end:]}"

    return replace


def _luhn(number: str) -> bool:
    """Whether the digits are those of a payment card (ISO/IEC 7812): other long numbers stay."""
    digits = [int(letter) for letter in number if letter.isdigit()]
    doubled = [digit if place % 2 == 0 else digit * 2 for place, digit in enumerate(reversed(digits))]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0
