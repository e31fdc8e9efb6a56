"""A connection to a live MCP server: opens it, watches for its end, and says in words what failed.

Imports the optional package `mcp`; `mcp_live` imports this module only when it is needed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache
from types import TracebackType
from typing import Any

import anyio
import httpx2
import mcp_types
from mcp import Client, MCPError
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp_types.methods import SERVER_RESULTS
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from kitpick_foundation.visible import one_line
from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.mcp_endpoint import LiveSettings, McpEndpoint
from kitpick_ingest.sources.mcp_http import BoundedSockets
from kitpick_ingest.sources.mcp_messages import HeldMessages
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_process import started
from kitpick_ingest.sources.mcp_streams import Message, MessageStream

# What the SDK logs of a server's faults, with traces, is said here in one line.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False

AS_SENT = "kitpick/as-sent"
"""Key of an answer under which a list stands as the server sent it; `mcp_listing` reads it there."""
_MAX_SAID = 500
LISTS = ("tools", "resources", "resourceTemplates", "prompts")
_BESIDE = ("annotations", "_meta")
"""Fields that say something about a part, and are no part of it."""
_BROKEN = (anyio.BrokenResourceError, anyio.ClosedResourceError)


@dataclass(frozen=True)
class Connection:
    """An open session."""

    client: Client
    ended: anyio.Event
    """Is set when the session is over, whoever ended it. An error that the server answers with is no end."""
    output: ServerOutput


class SessionEnded(SourceError):
    """A session that the server ended."""

    def __init__(self) -> None:
        super().__init__("session", "it ended the session")


@asynccontextmanager
async def connected(
    endpoint: McpEndpoint,
    settings: LiveSettings,
    output: ServerOutput,
    on_message: MessageHandlerFnT | None = None,
    *,
    idle_seconds: float | None = None,
    sockets: httpx2.AsyncBaseTransport | None = None,
) -> AsyncIterator[Connection]:
    """An initialised session. A server started for it is stopped with it, gently first.

    Args:
        endpoint: where the server is, or how it is started.
        settings: limits, headers and environment.
        output: keeps what a server shows beside its answers.
        on_message: called with every notification.
        idle_seconds: how long a stream of events may be silent; None for any time.
        sockets: carries requests to a URL, in place of sockets of its own.
    """
    ended, held = anyio.Event(), HeldMessages()
    async with AsyncExitStack() as stack:
        if endpoint.url:
            timeout = httpx2.Timeout(settings.request_seconds, read=idle_seconds)
            bounded = BoundedSockets(endpoint.url, settings, output, ended, held, sockets)
            http = await stack.enter_async_context(
                httpx2.AsyncClient(headers=dict(settings.headers), timeout=timeout, transport=bounded)
            )
            most = max(settings.max_answer_bytes, settings.max_result_bytes)
            transport: Any = streamable_http_client(endpoint.url, http_client=http, max_sse_event_size=most)
        else:
            transport = started(endpoint.command, settings, output)
        client = Client(
            _Watched(transport, ended, held),
            read_timeout_seconds=settings.request_seconds,
            message_handler=on_message,
            cache=None,
        )
        await stack.enter_async_context(client)
        try:
            yield Connection(client, ended, output)
        finally:
            ended.set()


class _Watched:
    """A transport that notices the end of its messages."""

    def __init__(
        self, transport: AbstractAsyncContextManager[Any], ended: anyio.Event, held: HeldMessages
    ) -> None:
        self._transport = transport
        self._ended = ended
        self._held = held

    async def __aenter__(self) -> tuple[Any, Any]:
        received, to_send = await self._transport.__aenter__()
        return _Received(received, self._ended, self._held), to_send

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended.set()
        return await self._transport.__aexit__(kind, error, trace)


class _Received(MessageStream):
    """The messages of a session, lists set apart: one odd entry must not cost the others."""

    def __init__(self, messages: Any, ended: anyio.Event, held: HeldMessages) -> None:  # noqa: ANN401 - of the SDK
        super().__init__(messages)
        self._ended = ended
        self._held = held

    async def receive(self) -> Message:
        """The next message."""
        try:
            return relieved(await super().receive(), self._held)
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._ended.set()
            raise


def relieved(message: Message, held: HeldMessages) -> Message:
    """A message whose lists stand apart as they were sent, and without hints that are none.

    The SDK refuses a whole answer because of one entry or hint; here each costs only itself.
    """
    answer = message.message if isinstance(message, SessionMessage) else None
    if not isinstance(message, SessionMessage) or not isinstance(answer, mcp_types.JSONRPCResponse):
        return message
    message.message = held.restored(answer)
    result = message.message.result
    if not isinstance(result.get("_meta", {}), dict):
        del result["_meta"]
    if "protocolVersion" in result:
        _relieve_introduction(result)
    elif "content" in result or "structuredContent" in result:
        _relieve_result(result)
    for field in LISTS:
        if "content" not in result and isinstance(result.get(field), list):
            sent = result[field]
            # The SDK reads schemas of tools from lists of its own: those that it can read stay.
            result[AS_SENT], result[field] = sent, list(filter(_is_tool, sent)) if field == "tools" else []
    cursor = result.get("nextCursor")
    if isinstance(cursor, int | float):  # servers send numbers; a 0 or false is the end
        result["nextCursor"] = str(cursor) if cursor else None
    seconds = result.get("ttlMs")
    if "ttlMs" in result and (isinstance(seconds, bool) or not isinstance(seconds, int)):
        del result["ttlMs"]
    if result.get("cacheScope", "public") not in ("public", "private"):
        del result["cacheScope"]
    return message


def _relieve_introduction(result: dict[str, Any]) -> None:
    """Leaves out what a server says wrongly of itself: its tools can be used without."""
    if not isinstance(result.get("instructions", ""), str):
        del result["instructions"]
    offers = result.get("capabilities")
    known = offers.items() if isinstance(offers, dict) else ()
    result["capabilities"] = {name: each for name, each in known if isinstance(each, dict)}
    try:
        mcp_types.Implementation.model_validate(result.get("serverInfo"), by_name=False)
    except ValidationError:
        result["serverInfo"] = {"name": "", "version": ""}


def _relieve_result(result: dict[str, Any]) -> None:
    """Changes a result so that the SDK reads it: of content that is none by the protocol the text is kept."""
    content = result.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    result["content"] = [_part(each) for each in parts]
    structured = result.get("structuredContent", {})
    if not isinstance(structured, dict):
        del result["structuredContent"]
        if not parts and structured is not None:
            result["content"] = [_text(structured)]


def _part(sent: object) -> object:
    bare = {key: value for key, value in sent.items() if key not in _BESIDE} if isinstance(sent, dict) else {}
    return next((each for each in (sent, bare) if _is_content(each)), None) or _text(sent)


def _text(sent: object) -> dict[str, str]:
    """A part of text: what it says, else the part as JSON."""
    said = sent.get("text") if isinstance(sent, dict) else sent
    return {"type": "text", "text": said if isinstance(said, str) else json.dumps(sent, ensure_ascii=False)}


def _is_content(part: object) -> bool:
    if not isinstance(part, dict) or "type" not in part:
        return False
    try:
        _content().validate_python(part, by_name=False)
    except ValidationError:
        return False
    return True


@cache
def _content() -> TypeAdapter[mcp_types.ContentBlock]:
    return TypeAdapter(mcp_types.ContentBlock)


def _is_tool(entry: object) -> bool:
    """Whether the SDK can read a tool, whatever version of the protocol was agreed on."""
    try:
        found = mcp_types.Tool.model_validate(entry, by_name=False)
        found.model_dump_json()
        for form in _tool_forms():
            form.validate_python([entry], by_name=False)
    except ValueError:  # no tool, or one that is nested too deeply
        return False
    return found.input_schema.get("type") == "object"


@cache
def _tool_forms() -> tuple[TypeAdapter[Any], ...]:
    """The list of tools in each version of the protocol, as the SDK checks it."""
    results = dict.fromkeys(SERVER_RESULTS["tools/list", version] for version in KNOWN_PROTOCOL_VERSIONS)
    fields = (getattr(result, "model_fields", {}).get("tools") for result in results)
    return tuple(TypeAdapter(field.annotation) for field in fields if field is not None)


def failure_reason(error: BaseException, settings: LiveSettings, output: ServerOutput | None = None) -> str:
    """The first error of the groups that the SDK wraps errors in, in one line, with what else is known.

    A stream that broke is what another error left behind: it is told only where there is no other.
    """
    errors = list(_single_errors(error))
    first = next((each for each in errors if not isinstance(each, _BROKEN)), errors[0])
    reason = _reason(first, settings)
    return output.added_to(reason) if output else reason


def _single_errors(error: BaseException) -> Iterator[BaseException]:
    nested = getattr(error, "exceptions", None)
    if not nested:
        yield error
    for each in nested or ():
        yield from _single_errors(each)


def _reason(error: BaseException, settings: LiveSettings) -> str:
    if isinstance(error, SourceError):
        return error.what
    if isinstance(error, OSError) and error.filename:
        return _not_started(error)
    if isinstance(error, TimeoutError | httpx2.TimeoutException):
        whole = f"not everything was listed within {settings.total_seconds:g} s"
        one = f"no answer within {settings.request_seconds:g} s"
        return whole if isinstance(error, TimeoutError) else one
    if isinstance(error, MCPError):
        return f"the session failed: {said_in(error)}"
    if isinstance(error, ValidationError):
        return f"the answer is no valid result: {invalid_place(error)}"
    return f"{type(error).__name__}: {error}"


def _not_started(error: OSError) -> str:
    """Why a program was not started, with the cure."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"there is no {error.filename!r}: install it, or write the whole path of the program or folder"
    return f"{error.filename!r}: {error.strerror}: is it a program, and may this user run it?"


def said_in(error: MCPError) -> str:
    """What a server answers with an error, on one line, of which the beginning is kept."""
    return f"{one_line(error.message[:_MAX_SAID])} (error {error.code})"


def invalid_place(error: ValidationError) -> str:
    """Where an answer is not as the protocol says, and why."""
    first = error.errors()[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
