"""One MCP server behind ours: a session that is kept open, followed, and opened again when it fails."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from msgspec.structs import replace

from kitpick.mcp.config import UpstreamConfig, live_settings
from kitpick.mcp.credentials import brought
from kitpick.mcp.errors import UpstreamFailed
from kitpick.mcp.turns import CallerTurns
from kitpick_foundation.masking import masked
from kitpick_ingest.sources.mcp_changes import AnnouncesNothing, Changes, watch_changes, watch_unsaid
from kitpick_ingest.sources.mcp_endpoint import Listing, overlaid
from kitpick_ingest.sources.mcp_listing import list_tools
from kitpick_ingest.sources.mcp_offers import Offer, in_words
from kitpick_ingest.sources.mcp_output import ServerOutput
from kitpick_ingest.sources.mcp_session import Connection, SessionEnded, connected, failure_reason

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
"""Seconds between attempts to connect: doubled from one to the next, cut short by a call."""
_log = logging.getLogger("kitpick.mcp")
Sockets = Callable[[], httpx2.AsyncBaseTransport | None]
"""Makes a transport; None for usual sockets."""


class Upstream:
    """Runs in one event loop: `run` in a task of its own, `call` from any other."""

    def __init__(
        self,
        config: UpstreamConfig,
        on_listing: Callable[[Listing], Awaitable[bool]],
        sockets: Sockets = lambda: None,
        *,
        shared: bool = False,
    ) -> None:
        """Not connected yet.

        Args:
            config: where the server is, and its limits.
            on_listing: is given every new list of tools, and says whether it could use it.
            sockets: makes what carries the requests of one session to a URL.
            shared: whether different callers use it: then one has half of the calls at the same time at most,
                and none is told what the server wrote.
        """
        self.config = config
        self._on_listing = on_listing
        self._sockets = sockets
        self._live = live_settings(config)
        self._secrets = (*self._live.headers.values(), *self._live.environment.values())
        self._shared = shared
        self._connection: Connection | None = None
        self._failures = 0
        """Attempts to connect that failed."""
        self._fault = "it is not connected yet"
        self._changed, self._wanted = anyio.Event(), anyio.Event()
        self._limiter = anyio.CapacityLimiter(config.max_calls)
        self._turns = CallerTurns((config.max_calls + 1) // 2 if shared else config.max_calls)
        self.has_listed = False
        """It has answered with its tools once."""
        self.settled = anyio.Event()
        """The catalog holds its tools as first listed, or they could not be had."""

    async def run(self) -> None:
        """Connects, follows and connects again until cancelled."""
        pause = _FIRST_PAUSE
        while True:
            started, output = anyio.current_time(), ServerOutput()
            try:
                await self._session(output)
                self._disconnected("it ended the session", output)
            except Exception as error:  # noqa: BLE001 - whatever an upstream does, this server goes on
                self._disconnected(failure_reason(error, self._live), output)
            lived_long = anyio.current_time() - started > _LONGEST_PAUSE
            pause = _FIRST_PAUSE if lived_long else min(2 * pause, _LONGEST_PAUSE)
            with anyio.move_on_after(pause):
                await self._wanted.wait()

    async def call(
        self, tool: str, arguments: dict[str, Any], offer: Offer | None = None, caller: str = ""
    ) -> types.CallToolResult:
        """The server's answer to one call; with an offer, that to reading its resource or getting its prompt.

        Raises:
            UpstreamFailed: it cannot be reached, dies, is silent for too long, or its answer is none.
        """
        seconds = self.config.timeout_seconds
        try:
            with anyio.fail_after(seconds):
                async with self._turns.of(caller), self._limiter:
                    if self.config.forward:
                        return await self._called_as_user(tool, arguments, offer)
                    connection = await self._connected()
                    return await self._answered(connection, tool, arguments, offer)
        except TimeoutError as error:
            raise self._failed(f"no answer within {seconds:g} s") from error

    async def _called_as_user(
        self, tool: str, arguments: dict[str, Any], offer: Offer | None
    ) -> types.CallToolResult:
        """One call in a session of its own, with the credentials that its caller brought along."""
        given = brought(self.config)
        live, output = replace(self._live, headers=overlaid(self._live.headers, given)), ServerOutput()
        endpoint = self.config.endpoint.without_user() if _brings_user(given) else self.config.endpoint
        try:
            async with connected(endpoint, live, output, sockets=self._sockets()) as connection:
                return await self._answered(connection, tool, arguments, offer)
        except (TimeoutError, UpstreamFailed):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a foreign server does; its trace may hold headers
            raise self._failed(output.added_to(_innermost(error))) from None

    async def _answered(
        self, connection: Connection, tool: str, arguments: dict[str, Any], offer: Offer | None
    ) -> types.CallToolResult:
        try:
            result = await _asked(connection.client, tool, arguments, offer)
        except MCPError as error:
            # Whether the session goes on does not depend on the code: servers use those of the SDK, too.
            alone = not (connection.ended.is_set() or connection.output.status)
            raise self._failed(error.message, None if alone else connection.output) from error
        except TimeoutError:
            raise
        except Exception as error:
            raise self._failed(failure_reason(error, self._live)) from error
        size = len(result.model_dump_json().encode())
        if size > self.config.max_result_bytes:
            limit = f"{self.config.max_result_bytes:,} (max_result_bytes)"
            raise self._failed(f"its answer of {size:,} bytes is above the limit of {limit}")
        return result

    async def _connected(self) -> Connection:
        """The open session, or the one that the next attempt opens."""
        failures = self._failures
        while self._connection is None or self._connection.ended.is_set():
            if self._failures > failures:
                raise self._failed(self._fault)
            self._wanted.set()
            await self._changed.wait()
        return self._connection

    async def _session(self, output: ServerOutput) -> None:
        self._wanted = anyio.Event()
        changes = Changes()
        async with connected(
            self.config.endpoint, self._live, output, changes, sockets=self._sockets()
        ) as connection:
            self._connection = connection
            self._change()
            await self._follow(connection, changes)

    async def _follow(self, connection: Connection, changes: Changes) -> None:
        """Takes in what the server announces, and what it only lists when asked from time to time."""
        newest = _Newest()
        async with anyio.create_task_group() as group:
            group.start_soon(_until_ended, connection)
            group.start_soon(self._take_in, newest)
            group.start_soon(self._ask, connection, newest)
            try:
                await watch_changes(connection, self._live, newest.put, changes)
            except AnnouncesNothing:
                await watch_unsaid(connection, self._live, newest.put, changes)
            group.cancel_scope.cancel()

    async def _take_in(self, newest: _Newest) -> None:
        """Half of the time at most, however often the list changes: the next one may have to wait."""
        known: Listing | None = None
        while True:
            listing = await newest.take()
            self.has_listed = True
            started = anyio.current_time()
            if listing != known and await self._on_listing(listing):
                known = listing
            self.settled.set()
            await anyio.sleep(min(anyio.current_time() - started, _LONGEST_PAUSE))

    async def _ask(self, connection: Connection, newest: _Newest) -> None:
        """Asks for the list: for changes that were not announced, and to notice that no answer comes.

        Sooner than the operator says where the server says that its list will not hold as long.
        """
        while True:
            await anyio.sleep(min(self.config.poll_seconds, newest.fresh_seconds))
            newest.put(await list_tools(connection, self._live))

    def _failed(self, reason: str, output: ServerOutput | None = None) -> UpstreamFailed:
        """What a caller is told, with what is known beside it.

        What a server wrote is told where it has one caller: elsewhere it may be of what another one asked.
        """
        told = reason if output is None else output.added_to(reason, written=not self._shared)
        return UpstreamFailed(self.config.name, masked(told, self._secrets))

    def _disconnected(self, reason: str, output: ServerOutput) -> None:
        """Calls that wait for an attempt to connect hear that it failed, or wait for the next."""
        told = masked(output.added_to(reason), self._secrets)
        _log.warning("upstream %s: %s", self.config.name, told)
        if self._connection is None:
            self._failures += 1
        self._connection, self._fault = None, output.added_to(reason, written=not self._shared)
        self.settled.set()
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


async def _until_ended(connection: Connection) -> None:
    await connection.ended.wait()
    raise SessionEnded()


def _brings_user(headers: Mapping[str, str]) -> bool:
    return any(name.lower() == "authorization" for name in headers)


async def _asked(
    client: Client, tool: str, arguments: dict[str, Any], offer: Offer | None
) -> types.CallToolResult:
    if offer is None:
        return await client.call_tool(tool, arguments)
    if offer.prompt:
        texts = {name: in_words(value) for name, value in arguments.items() if value is not None}
        prompt = await client.get_prompt(offer.prompt, texts)
        return types.CallToolResult(content=[message.content for message in prompt.messages])
    read = await client.read_resource(offer.uri(arguments))
    return types.CallToolResult(
        content=[types.EmbeddedResource(type="resource", resource=each) for each in read.contents]
    )


def _innermost(error: BaseException) -> str:
    """Kind of the first error of nested groups: its text could repeat what was sent."""
    while nested := getattr(error, "exceptions", None):
        error = nested[0]
    return error.reason if isinstance(error, UpstreamFailed) else type(error).__name__


class _Newest:
    """The newest list of tools that was not taken yet."""

    def __init__(self) -> None:
        self._listing: Listing | None = None
        self._arrived = anyio.Event()
        self.fresh_seconds = float("inf")
        """Seconds for which the newest list holds, as its server says."""

    def put(self, listing: Listing) -> None:
        """In place of an older one."""
        self._listing = listing
        self.fresh_seconds = float("inf") if listing.fresh_seconds is None else listing.fresh_seconds
        self._arrived.set()

    async def take(self) -> Listing:
        """Waits for one."""
        while self._listing is None:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        listing, self._listing = self._listing, None
        return listing
