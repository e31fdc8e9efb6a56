"""A started MCP server as a transport: its group of processes, its lines, and what it writes beside them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from anyio.abc import AsyncResource, ByteReceiveStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage

from kitpick_ingest.process_guard import GUARD
from kitpick_ingest.sources.mcp_endpoint import LiveSettings
from kitpick_ingest.sources.mcp_http import result_limit, too_large
from kitpick_ingest.sources.mcp_messages import is_object, messages_in, unreadable
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_spread import SpreadMessage

_GRACE_SECONDS = 2.0
"""Seconds for a server to end by itself once its standard input is closed, and again once it is asked to."""
_UNASKED_BYTES = 1024 * 1024
"""Most bytes of a line that nobody asked for."""
_HEAD = 300
_SIGNALS = (signal.SIGTERM, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
_OUTCOME = re.compile(rb'"(?:result|error)"\s*:')
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")')

Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]
_GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)


@asynccontextmanager
async def started(
    command: Sequence[str], settings: LiveSettings, output: ServerOutput
) -> AsyncIterator[Streams]:
    """Starts a server and carries messages to and from its standard streams; ends its group at the end.

    Lines that are no messages are kept in `output`, as is the standard error.

    Raises:
        OSError: there is no such program, or it cannot be run.
    """
    with GUARD.beside():
        # A cancellation between the start and the first `try` would leave a process that nobody ends.
        with anyio.CancelScope(shield=True):
            process = await _open(command, settings)
            GUARD.watch(process.pid)
        exchange = _Exchange(process, settings, output)
        try:
            async with exchange.running() as streams:
                yield streams
        finally:
            with anyio.CancelScope(shield=True):
                if exchange.silent:
                    await _until(lambda: process.returncode is not None)
                    output.exit_code = process.returncode
                await _end(process)
            GUARD.forget(process.pid)


async def _open(command: Sequence[str], settings: LiveSettings) -> Process:
    program, *arguments = command
    found = shutil.which(program) or program if sys.platform == "win32" else program
    return await anyio.open_process(
        [found, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=get_default_environment() | dict(settings.environment),
        cwd=settings.folder or None,
        start_new_session=True,
    )


class _Exchange:
    """The lines of one server, both ways."""

    def __init__(self, process: Process, settings: LiveSettings, output: ServerOutput) -> None:
        self._process = process
        self._settings = settings
        self._output = output
        self.silent = False
        """Whether the server has closed its output, mostly by ending."""
        self._spread = SpreadMessage()
        self._asked: dict[int | str, str] = {}
        """Methods of requests without an answer, by id."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Streams]:
        to_session, received = anyio.create_memory_object_stream[Received](0)
        to_send, from_session = anyio.create_memory_object_stream[SessionMessage](0)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, to_session)
            group.start_soon(self._write, from_session, to_session)
            group.start_soon(self._listen)
            try:
                yield received, to_send
            finally:
                for stream in (received, to_send):
                    stream.close()
                group.cancel_scope.cancel()

    async def _write(
        self,
        from_session: MemoryObjectReceiveStream[SessionMessage],
        to_session: MemoryObjectSendStream[Received],
    ) -> None:
        assert self._process.stdin is not None
        try:
            async with from_session:
                async for each in from_session:
                    self._note(each.message)
                    line = each.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.stdin.send(line.encode("utf-8", "replace") + b"\n")
        except _GONE:
            to_session.close()  # the session ends, in place of waiting for answers

    def _note(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest):
            self._asked[message.id] = message.method
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._asked.pop((message.params or {}).get("requestId", ""), None)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        with suppress(*_GONE):
            async for data in self._process.stderr:
                self._output.write(data)

    async def _read(self, to_session: MemoryObjectSendStream[Received]) -> None:
        assert self._process.stdout is not None
        try:
            async with to_session:
                async for line in self._lines(self._process.stdout):
                    for message in self._messages(line):
                        await to_session.send(SessionMessage(message))
                self.silent = True
        except _GONE:
            return

    async def _lines(self, stdout: ByteReceiveStream) -> AsyncIterator[bytes | types.JSONRPCError]:
        """Lines; in place of one above its limit, the error that its request is answered with."""
        begun, skipped = bytearray(), False
        async for data in stdout:
            *ends, rest = data.split(b"\n")
            for end in ends:
                begun += end
                if skipped or len(begun) > self._limit():
                    if (error := self._too_large(bytes(begun))) is not None:
                        yield error
                else:
                    yield bytes(begun)
                begun, skipped = bytearray(), False
            begun += rest
            if skipped or len(begun) > self._limit():
                skipped = True
                if len(begun) > 2 * _HEAD:  # the beginning and the end may tell which request it answers
                    begun[_HEAD:] = begun[-_HEAD:]
        if begun and not skipped:
            yield bytes(begun)

    def _limit(self) -> int:
        limits = (result_limit(method, self._settings) for method in self._asked.values())
        return max(limits, default=_UNASKED_BYTES)

    def _unreadable(self, line: bytes) -> types.JSONRPCError | None:
        """The answer to the request that a line answers, which is whole and no message; else none."""
        if self._spread.size or not is_object(line) or not _OUTCOME.search(line):
            return None
        named = map(_id, _ID.findall(line[:_HEAD]))
        key = next((key for key in named if key in self._asked), None)
        if key is None:
            return None
        return _internal_error(key, unreadable(self._asked.pop(key), line))

    def _too_large(self, parts: bytes) -> types.JSONRPCError | None:
        """The answer to the request that a line answers which is too large; none where it does not tell."""
        ids = [_id(found) for found in _ID.findall(parts[:_HEAD])[:1] + _ID.findall(parts[-_HEAD:])[-1:]]
        for key in (*ids, *(self._asked if len(self._asked) == 1 else ())):
            if key in self._asked:
                method = self._asked.pop(key)
                return _internal_error(key, too_large(method, result_limit(method, self._settings)))
        self._output.line(b"(a line above the limit, which is not read)")
        return None

    def _messages(self, line: bytes | types.JSONRPCError) -> list[types.JSONRPCMessage]:
        """What a line says: mostly one message, or none."""
        if isinstance(line, types.JSONRPCError):
            return [line]
        found = messages_in(line)
        if found:
            self._output.write_lines(self._spread.drop())
        elif (error := self._unreadable(line)) is not None:
            self._output.line(line)
            return [error]
        else:
            found = self._spread_over_lines(line)
        self._output.unfinished = self._spread.beginning(_HEAD)
        for message in found:
            if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
                self._answered(message, line)
        return found

    def _spread_over_lines(self, line: bytes) -> list[types.JSONRPCMessage]:
        """The messages that end with this line, and began with another."""
        if not self._spread.takes(line):
            self._output.write_lines(self._spread.drop() + line)
            return []
        whole = self._spread.add(line)
        if self._spread.size > self._limit():
            error = self._too_large(self._spread.skip())
            return [] if error is None else [error]
        found = messages_in(whole)
        if not found:
            self._output.write_lines(whole)
        return found

    def _answered(self, message: types.JSONRPCResponse | types.JSONRPCError, line: bytes) -> None:
        if message.id is not None:
            self._output.note_answer(self._asked.pop(message.id, ""), line)


def _internal_error(key: int | str, reason: str) -> types.JSONRPCError:
    error = types.ErrorData(code=types.INTERNAL_ERROR, message=reason)
    return types.JSONRPCError(jsonrpc="2.0", id=key, error=error)


def _id(found: bytes) -> int | str:
    return found[1:-1].decode("utf-8", "replace") if found.startswith(b'"') else int(found)


async def _end(process: Process) -> None:
    """Closes its input, waits a moment, and ends whatever of its group lives on."""
    await _close(process.stdin)
    await _until(lambda: process.returncode is not None)
    for sent in _SIGNALS:
        if not _signal(process, sent):
            break
        await _until(lambda: not _signal(process, 0))
    await _close(process.stdout)
    await _close(process.stderr)
    # A process that left the group may hold a pipe open: nobody waits for it.
    if (transport := getattr(getattr(process, "_process", None), "_transport", None)) is not None:
        with suppress(PermissionError):
            transport.close()


async def _close(stream: AsyncResource | None) -> None:
    if stream is not None:
        with suppress(*_GONE):
            await stream.aclose()


async def _until(ended: Callable[[], bool]) -> None:
    deadline = anyio.current_time() + _GRACE_SECONDS
    while not ended() and anyio.current_time() < deadline:
        await anyio.sleep(0.01)


def _signal(process: Process, number: int) -> bool:
    """Sends it to the group. Returns whether there may still be somebody."""
    if sys.platform == "win32":
        if process.returncode is None and number:
            process.kill()
        return process.returncode is None
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return process.returncode is None
    return True
