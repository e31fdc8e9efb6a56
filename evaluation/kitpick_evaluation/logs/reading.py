"""Reads logged tool calls: OpenTelemetry GenAI spans (OTLP JSON lines), or `{"query": …, "tools": […]}`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from kitpick_evaluation.errors import InvalidLog
from kitpick_foundation.decoding import UNDECODABLE

MAX_LINE_BYTES = 32 * 1024 * 1024
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
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                where = f"{path}:{number}"
                if len(line) > MAX_LINE_BYTES:
                    raise InvalidLog(f"{where}: a line of more than {MAX_LINE_BYTES:,} bytes")
                if line.strip():
                    yield where, _object(line, where)
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
        return msgspec.convert({"text": line["query"], "tools": line.get("tools", [])}, LoggedRequest)
    except msgspec.ValidationError as error:
        raise InvalidLog(f"{where}: {error}") from error


def _spans(line: Json, where: str) -> Iterator[Json]:
    try:
        for resource in line["resourceSpans"]:
            for scope in resource.get("scopeSpans", ()):
                for span in scope.get("spans", ()):
                    yield {**span, "attributes": _attributes(span.get("attributes", ()))}
    except (AttributeError, TypeError, KeyError) as error:
        raise InvalidLog(f"{where}: spans that are not OTLP JSON: {error!r}") from error


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
    for span in sorted(spans, key=lambda span: int(span.get("startTimeUnixNano", 0) or 0)):
        attributes = span["attributes"]
        text = _user_text(_first(attributes, _INPUTS)) or _event_text(span)
        if text:
            last = text
            asked.setdefault(text, []).extend(_called(_first(attributes, _OUTPUTS)))
        if attributes.get("gen_ai.operation.name") == _CALLS and last and not _failed(span):
            asked[last].append(str(attributes.get("gen_ai.tool.name", "")))
    for text, tools in asked.items():
        yield LoggedRequest(text, tuple(dict.fromkeys(tool for tool in tools if tool)))


def _first(attributes: Json, names: Sequence[str]) -> list[Json]:
    """Messages under the first of these names: a list, or a string of JSON."""
    found = next((attributes[name] for name in names if name in attributes), None)
    if isinstance(found, str):
        try:
            found = msgspec.json.decode(found)
        except UNDECODABLE:
            return []
    return [message for message in found if isinstance(message, dict)] if isinstance(found, list) else []


def _user_text(messages: Sequence[Json]) -> str:
    """The last message of the user."""
    for message in reversed(messages):
        if message.get("role") == "user":
            parts = message.get("parts", message.get("content", ""))
            if isinstance(parts, str):
                return parts.strip()
            texts = [part.get("content", part.get("text", "")) for part in parts if isinstance(part, dict)]
            return " ".join(text for text in texts if isinstance(text, str)).strip()
    return ""


def _event_text(span: Json) -> str:
    """The older convention: an event for each message."""
    for event in reversed(span.get("events", ())):
        if event.get("name") == "gen_ai.user.message":
            return str(_attributes(event.get("attributes", ())).get("content", "")).strip()
    return ""


def _called(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        for part in message.get("parts", ()):
            if isinstance(part, dict) and part.get("type") == "tool_call":
                yield str(part.get("name", ""))


def _failed(span: Json) -> bool:
    status = span.get("status") or {}
    return status.get("code") in {2, "STATUS_CODE_ERROR"} or "error.type" in span["attributes"]
