"""Converts logged requests to judged ones: resolves names to ids, merges equal requests.

Secrets and personal data in requests are replaced by what they were; names of people stay.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.logs.reading import LoggedRequest
from kitpick_ingest.function_names import function_names

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
    """The text with `<email>`, `<phone>`, `<card>`, `<token>` … in place of such data."""
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


MAX_CHARACTERS = 4_000
"""A request longer than this is a document that somebody pasted: cut."""


class Harvest(msgspec.Struct, frozen=True):
    """Judged requests, and counts of the others."""

    queries: tuple[JudgedQuery, ...]
    read: int
    masked: int
    """Requests in which something was replaced."""
    merged: int
    """Requests that asked what another one had asked."""
    without_tools: int
    """Requests for which nothing was called that the catalog knows."""
    unknown: dict[str, int]
    """Names that the catalog lacks, and how often they were called."""
    ambiguous: dict[str, int]
    """Names that several APIs bear."""


def harvest(logged: Iterable[LoggedRequest], documents: Sequence[ApiDocument]) -> Harvest:
    """Judged requests in the order in which they were first asked.

    The APIs that were called are taken for the relevant ones: what a model called without an error is the
    best that a log knows, and nobody has checked it.
    """
    known = names_of(documents)
    relevant: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    several: Counter[str] = Counter()
    for request in logged:
        text = masked(" ".join(request.text.split())[:MAX_CHARACTERS])
        ids = _resolved(request.tools, known, lacking, several)
        counts["read"] += 1
        counts["masked"] += text != " ".join(request.text.split())[:MAX_CHARACTERS]
        if not text or not ids:
            counts["without_tools"] += 1
            continue
        key = text.casefold().rstrip("?!. ")
        counts["merged"] += key in relevant
        texts.setdefault(key, text)
        relevant.setdefault(key, set()).update(ids)
    return Harvest(
        queries=tuple(
            JudgedQuery(f"log-{number}", texts[key], frozenset(ids))
            for number, (key, ids) in enumerate(relevant.items(), start=1)
        ),
        read=counts["read"],
        masked=counts["masked"],
        merged=counts["merged"],
        without_tools=counts["without_tools"],
        unknown=dict(lacking.most_common()),
        ambiguous=dict(several.most_common()),
    )


def names_of(documents: Sequence[ApiDocument]) -> Mapping[str, frozenset[str]]:
    """Every name that a log may use for an API → the ids with this name.

    Ids, plain names, `tool.api` and `tool__api` as MCP clients write them, and the function names under which
    this project hands APIs to a model.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    for document, function in zip(documents, function_names(documents), strict=True):
        names = {document.id, document.api, function}
        names |= {f"{document.tool}{joint}{document.api}" for joint in (".", "__", "_", "/", "-")}
        for name in names:
            found[name.casefold()].add(document.id)
    return {name: frozenset(ids) for name, ids in found.items()}


def query_lines(queries: Iterable[JudgedQuery]) -> bytes:
    """The requests in the form of `--queries`: one JSON object a line."""
    return b"".join(
        msgspec.json.encode({"id": query.id, "query": query.text, "relevant": sorted(query.relevant)}) + b"\n"
        for query in queries
    )


def _resolved(
    tools: Sequence[str], known: Mapping[str, frozenset[str]], lacking: Counter[str], several: Counter[str]
) -> set[str]:
    found: set[str] = set()
    for tool in tools:
        ids = known.get(tool.casefold(), frozenset())
        if not ids:
            lacking[tool] += 1
        elif len(ids) > 1:
            several[tool] += 1
        else:
            found |= ids
    return found
