"""The standard streams of the MCP server: every message of a client is answered, even a malformed one."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import mcp_types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from kitpick_ingest.sources.mcp_messages import messages_in
from kitpick_ingest.sources.mcp_streams import Message, MessageStream

_HEAD = 1_000
_OF_THE_WHOLE = ("missing", "model_type")
"""Errors of a message that name the whole message as their input."""
_ID = re.compile(r'"id"\s*:\s*(-?\d{1,18}\b(?!\.)|"[^"\\]{0,100}")')


@asynccontextmanager
async def standard_streams() -> AsyncIterator[tuple[MessageStream, Any]]:
    """What comes in and what goes out."""
    async with stdio_server() as (read, write):
        yield _Lines(read, write), write


class _Lines(MessageStream):
    """Messages of a client. The SDK drops a line that it cannot parse, and its sender waits for ever.

    Lone surrogates, such as those of a text that was cut within an emoji, are replaced; what is no message
    is refused by its id, where it has one.
    """

    def __init__(self, messages: Any, write: Any) -> None:  # noqa: ANN401 - streams of the SDK
        super().__init__(messages)
        self._write = write
        self._waiting: deque[SessionMessage] = deque()

    async def receive(self) -> Message:
        """The next message."""
        if self._waiting:
            return self._waiting.popleft()
        message = await super().receive()
        if not isinstance(message, ValidationError):
            return message
        line = _line_of(message)
        self._waiting += map(SessionMessage, messages_in(line.encode()))
        if self._waiting:
            return self._waiting.popleft()
        await self._refuse(line)
        return message

    async def _refuse(self, line: str) -> None:
        found = _ID.search(line[:_HEAD]) if '"method"' in line else None
        if found is not None:
            key = found[1][1:-1] if found[1].startswith('"') else int(found[1])
            error = types.ErrorData(
                code=types.PARSE_ERROR, message="no message of JSON-RPC can be read in it"
            )
            await self._write.send(SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=key, error=error)))


def _line_of(error: ValidationError) -> str:
    """What was parsed: as it came where it is no JSON, else written anew."""
    whole = (each["input"] for each in error.errors() if not each["loc"] or each["type"] in _OF_THE_WHOLE)
    given = next(whole, "")
    return given if isinstance(given, str) else json.dumps(given)
