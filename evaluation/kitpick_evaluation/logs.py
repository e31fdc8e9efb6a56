"""Judged requests from logged tool calls: read, mask, resolve names to ids, merge equal requests.

Logs are OpenTelemetry GenAI spans (OTLP JSON lines), or lines of `{"query": …, "tools": […]}`. Secrets and
personal data in requests are replaced by what they were; names of people stay.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidLog
from kitpick_foundation.decoding import UNDECODABLE, convert_to
from kitpick_foundation.text_files import open_utf8
from kitpick_ingest.function_names import function_names

MAX_LINE_BYTES = 32 * 1024 * 1024
_MAX_DIGITS = 20
_MAX_NAME = 200
"""Characters of the name of a tool that is told."""
_CALLS = "execute_tool"
_INPUTS = ("gen_ai.input.messages", "gen_ai.prompt")
_OUTPUTS = ("gen_ai.output.messages", "gen_ai.completion")

Json = Mapping[str, Any]


class LoggedRequest(msgspec.Struct, frozen=True):
    """A request of a user, and the names of the tools that were called for it without an error."""

    text: str
    tools: tuple[str, ...]


def read_logs(paths: Sequence[Path]) -> Iterator[LoggedRequest]:
    """The requests of all files; the spans of one trace are put together across lines and files.

    Raises:
        InvalidLog: a file cannot be read, or a line is neither of the two forms; names the line.
    """
    traces: defaultdict[str, list[Json]] = defaultdict(list)
    for path in paths:
        for where, line in _lines(path):
            if "resourceSpans" in line:
                for span in _spans(line, where):
                    traces[str(span.get("traceId", ""))].append(span)
            else:
                yield _plain(line, where)
    for spans in traces.values():
        yield from _requests(spans)


def _lines(path: Path) -> Iterator[tuple[str, Json]]:
    try:
        with open_utf8(path) as lines:
            for number, line in enumerate(lines, start=1):
                where = f"{path}:{number}"
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidLog(f"{where}: a line of more than {MAX_LINE_BYTES:,} bytes")
                if line.strip():
                    yield where, _object(line, where)
    except UnicodeDecodeError as error:
        raise InvalidLog(f"{path}: cannot be read: {error}") from error
    except OSError as error:
        raise InvalidLog(f"{path}: cannot be read: {error.strerror}") from error


def _object(line: bytes, where: str) -> Json:
    try:
        found = msgspec.json.decode(line)
    except UNDECODABLE as error:
        raise InvalidLog(f"{where}: not JSON: {error}") from error
    if not isinstance(found, dict) or not ("resourceSpans" in found or "query" in found):
        raise InvalidLog(f'{where}: neither OTLP spans ("resourceSpans") nor {{"query": …, "tools": […]}}')
    return found


def _plain(line: Json, where: str) -> LoggedRequest:
    try:
        return convert_to({"text": line["query"], "tools": line.get("tools", [])}, LoggedRequest)
    except msgspec.ValidationError as error:
        raise InvalidLog(f"{where}: {error}") from error


def _spans(line: Json, where: str) -> Iterator[Json]:
    try:
        for resource in line["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    yield {**_with_attributes(span), "events": _events(span)}
    except (AttributeError, TypeError, KeyError) as error:
        raise InvalidLog(f"{where}: spans that are not OTLP JSON: {error!r}") from error


def _events(span: Json) -> list[Json]:
    return [_with_attributes(event) for event in span.get("events") or ()]


def _with_attributes(given: Json) -> Json:
    return {**given, "attributes": _attributes(given.get("attributes") or ())}


def _attributes(pairs: Sequence[Json]) -> dict[str, Any]:
    return {str(pair["key"]): _value(pair.get("value", {})) for pair in pairs}


def _value(value: Json) -> Any:  # noqa: ANN401 - whatever the exporter wrote
    if "arrayValue" in value:
        return [_value(item) for item in value["arrayValue"].get("values", ())]
    if "kvlistValue" in value:
        return _attributes(value["kvlistValue"].get("values", ()))
    return next(iter(value.values()), None)


def _requests(spans: Sequence[Json]) -> Iterator[LoggedRequest]:
    """One request for each message of a user in a trace, in order of time."""
    asked: dict[str, list[str]] = {}
    last = ""
    for span in sorted(spans, key=_began):
        attributes = span["attributes"]
        text = _user_text(_first(attributes, _INPUTS)) or _event_text(span)
        if text:
            last = text
            asked.setdefault(text, []).extend(_called(_first(attributes, _OUTPUTS)))
        if attributes.get("gen_ai.operation.name") == _CALLS and last and not _failed(span):
            asked[last].append(str(attributes.get("gen_ai.tool.name", "")))
    for text, tools in asked.items():
        yield LoggedRequest(text, tuple(dict.fromkeys(tool for tool in tools if tool)))


def _began(span: Json) -> int:
    """Nanoseconds; 0 where they are no number."""
    text = str(span.get("startTimeUnixNano"))
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0


def _objects(value: object) -> list[Json]:
    """The objects of a list: whatever else stands in a message was written by somebody, and says nothing."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _first(attributes: Json, names: Sequence[str]) -> list[Json]:
    """Messages under the first of these names: a list, or a string of JSON."""
    found = next((attributes[name] for name in names if name in attributes), None)
    if isinstance(found, str):
        try:
            found = msgspec.json.decode(found)
        except UNDECODABLE:
            return []
    return _objects(found)


def _user_text(messages: Sequence[Json]) -> str:
    """The last message of the user."""
    for message in reversed(messages):
        if message.get("role") == "user":
            parts = message.get("parts", message.get("content", ""))
            if isinstance(parts, str):
                return parts.strip()
            texts = [part.get("content", part.get("text", "")) for part in _objects(parts)]
            return " ".join(text for text in texts if isinstance(text, str)).strip()
    return ""


def _event_text(span: Json) -> str:
    """The older convention: an event for each message."""
    for event in reversed(span["events"]):
        if event.get("name") == "gen_ai.user.message":
            return str(event["attributes"].get("content", "")).strip()
    return ""


def _called(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        for part in _objects(message.get("parts")):
            if part.get("type") == "tool_call":
                yield str(part.get("name", ""))


def _failed(span: Json) -> bool:
    status = span.get("status")
    code = status.get("code") if isinstance(status, dict) else None
    return code in (2, "STATUS_CODE_ERROR") or "error.type" in span["attributes"]


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
    ("token", re.compile(r"\b(?=[\w+/-]{0,99}\d)(?=[\w+/-]{0,99}[A-Za-z])[A-Za-z0-9+/_-]{32,}={0,2}")),
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
    counting = _Counting(names_of(documents))
    for request in logged:
        counting.add(request)
    return counting.harvest()


class _Counting:
    """Requests of a log that ask the same, put together, and counts of the others."""

    def __init__(self, known: Mapping[str, frozenset[str]]) -> None:
        """`known` has the ids of every name."""
        self._known = known
        self._relevant: dict[str, set[str]] = {}
        self._texts: dict[str, str] = {}
        self._counts: Counter[str] = Counter()
        self._lacking: Counter[str] = Counter()
        self._several: Counter[str] = Counter()

    def add(self, request: LoggedRequest) -> None:
        """Takes one request, by its text and the APIs that were called for it."""
        whole = " ".join(request.text.split())[: 2 * MAX_CHARACTERS]
        text = masked(whole)  # before it is cut: half a secret is not recognised
        ids = self._resolved(request.tools)
        self._counts["read"] += 1
        self._counts["masked"] += text != whole
        text = text[:MAX_CHARACTERS]
        if not text or not ids:
            self._counts["without_tools"] += 1
            return
        key = text.casefold().rstrip("?!. ")
        self._counts["merged"] += key in self._relevant
        self._texts.setdefault(key, text)
        self._relevant.setdefault(key, set()).update(ids)

    def _resolved(self, tools: Sequence[str]) -> set[str]:
        """Ids of the APIs that bear these names alone."""
        found: set[str] = set()
        for tool in tools:
            ids = self._known.get(tool.casefold(), frozenset())
            if not ids:
                self._lacking[tool[:_MAX_NAME]] += 1
            elif len(ids) > 1:
                self._several[tool] += 1
            else:
                found |= ids
        return found

    def harvest(self) -> Harvest:
        """What was taken so far."""
        return Harvest(
            queries=tuple(
                JudgedQuery(f"log-{number}", self._texts[key], frozenset(ids))
                for number, (key, ids) in enumerate(self._relevant.items(), start=1)
            ),
            read=self._counts["read"],
            masked=self._counts["masked"],
            merged=self._counts["merged"],
            without_tools=self._counts["without_tools"],
            unknown=dict(self._lacking.most_common()),
            ambiguous=dict(self._several.most_common()),
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
