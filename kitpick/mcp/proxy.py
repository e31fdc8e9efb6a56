"""Calls of found tools: finds the upstream of a document, and checks that this caller may call it."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.lowlevel import checkpoint
from anyio.to_thread import run_sync

from kitpick.catalog import Catalog
from kitpick.mcp.config import Caller, McpConfig, UpstreamConfig
from kitpick.mcp.credentials import lacking
from kitpick.mcp.errors import CallRefused
from kitpick.mcp.upstream import Upstream
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.labels import LabelledSource, Labels
from kitpick_ingest.source import Source
from kitpick_ingest.sources.mcp_endpoint import Listing
from kitpick_ingest.sources.mcp_live import ListedTools
from kitpick_ingest.sources.mcp_offers import offer_of
from kitpick_ingest.sync import SyncOptions

_FIRST_LISTING_SECONDS = 2.0
"""How long the first searches wait for servers that are being started; later ones wait for nobody."""
_TAKING_IN_SECONDS = 30.0
"""How long a call waits for tools that their server has listed, until they are in the catalog."""
MAX_LISTED = 50
"""Tools of one upstream that clients are shown without a search: the first by name."""
_MOST_LINES = 20
_WAIT_SECONDS = 5.0
"""Seconds to wait for other processes that ingest the same upstream: clients often start several at once."""
_log = logging.getLogger("kitpick.mcp")


class Proxy:
    """The servers behind the MCP server, and the rules of calling them."""

    def __init__(
        self, catalog: Catalog, config: McpConfig, on_change: Callable[[], Awaitable[None]] = checkpoint
    ) -> None:
        """Takes what is called when other tools are listed, or others of their definitions, than before."""
        self._catalog = catalog
        self._on_change = on_change
        self._patience_ends = 0.0
        self._listed: dict[str, dict[str, str]] = {}
        self._lock, self._hold_back = config.lock, config.hold_back
        self._upstreams = {
            upstream.name: Upstream(upstream, partial(self._take_in, upstream), shared=config.guarded)
            for upstream in config.upstreams
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keeps the upstreams connected and the catalog in line with them."""
        self._patience_ends = anyio.current_time() + _FIRST_LISTING_SECONDS
        async with anyio.create_task_group() as group:
            for upstream in self._upstreams.values():
                group.start_soon(upstream.run)
            yield
            group.cancel_scope.cancel()

    async def settled(self, caller: Caller) -> list[str]:
        """Waits a moment for servers that are being started. Returns the names of those still missing then.

        A server is missing if its tools were not ingested since this process began. One that this caller may
        not see is not named. A search that follows has the tools of all servers that are not missing.
        """
        with anyio.CancelScope(deadline=self._patience_ends):
            for upstream in self._upstreams.values():
                await upstream.settled.wait()
        missing = [each.config for each in self._upstreams.values() if each.config.name not in self._listed]
        return [config.name for config in missing if _may_see(config, caller)]

    async def taken_in(self, name: str) -> bool:
        """Whether a server's tools are in the catalog. Waits while they are taken in, not while it hangs."""
        upstream = self._upstreams[name]
        with anyio.move_on_after(_TAKING_IN_SECONDS):
            while upstream.has_listed and not upstream.settled.is_set():
                await upstream.settled.wait()
        return name in self._listed

    @property
    def lists(self) -> bool:
        """Whether the operator wants tools of upstreams listed: then callers may see different lists."""
        return any(upstream.config.listed for upstream in self._upstreams.values())

    async def listed(self, caller: Caller) -> list[ApiDocument]:
        """The tools that this caller is shown without a search."""
        ids = [key for hashes in self._listed.values() for key in hashes]
        seen = await run_sync(self._catalog.engine.fetch, ids, caller.filter) if ids else []
        return [document for document in seen if not self.refusal(document, caller)]

    def refusal(self, document: ApiDocument, caller: Caller) -> str:
        """Why this caller cannot call this tool; empty where they can."""
        upstream = self._upstreams.get(document.source)
        if upstream is None:
            return "no server is configured that would run it"
        if not caller.may_call:
            return "this caller may search and not call"
        return _rule_against(upstream.config, document) or lacking(upstream.config)

    async def call(
        self, document: ApiDocument, arguments: dict[str, Any], caller: Caller
    ) -> types.CallToolResult:
        """Passes a call on, with the operator's credentials; with the caller's where `forward` names them.

        Raises:
            CallRefused: it may not be called.
            UpstreamFailed: the server did not answer as it should.
        """
        if reason := self.refusal(document, caller):
            raise CallRefused(document.id, reason)
        _log.info("%s calls %s", caller.name, document.id)
        return await self._upstreams[document.source].call(
            document.api, arguments, offer_of(document.definition), caller.name
        )

    async def _take_in(self, config: UpstreamConfig, listing: Listing) -> bool:
        """Brings the catalog in line with a new list of tools; a failure leaves the old one."""
        labels = Labels(category=config.category, tenant=config.tenant, allowed=config.visible_to)
        source = LabelledSource(ListedTools(config.name, config.endpoint.where, listing), labels)
        try:
            await run_sync(self._sync, config, source)
            listed = await run_sync(self._listed_now, config, source)
        except KitpickError as error:
            _log.warning("upstream %s: its tools were not taken in: %s", config.name, error)
            return False
        before, self._listed[config.name] = self._listed.get(config.name, {}), listed
        if listed != before:
            await self._on_change()
        return True

    def _sync(self, config: UpstreamConfig, source: Source) -> None:
        options = SyncOptions(
            allow_shrink=config.allow_shrink,
            lock=self._lock,
            hold_back=self._hold_back,
            wait=_WAIT_SECONDS,
        )
        report = self._catalog.ingest(source, options=options)
        numbers = (report.added, report.changed, report.deleted, report.embedded)
        _log.info("upstream %s: +%d ~%d -%d, %d embedded", config.name, *numbers)
        for each in report.unapproved[:_MOST_LINES]:
            fate = "held back" if each.held_back else "taken in"
            _log.warning("not as approved (%s), %s: %r", each.difference, fate, each.id[:200])
        if len(report.unapproved) > _MOST_LINES:
            _log.warning("%s: %d are not as approved in all", config.name, len(report.unapproved))

    def _listed_now(self, config: UpstreamConfig, source: Source) -> dict[str, str]:
        """Content hashes by id of the tools that clients are shown, as the catalog holds them."""
        names = {item.api: item.id for item in source.read() if isinstance(item, ApiDocument)}
        wanted = [names[api] for api in sorted(names) if _matches(api, config.listed)]
        those_who_may = Filter(tenant=config.tenant, principals=frozenset(config.visible_to))
        found = self._catalog.engine.fetch(wanted, those_who_may) if wanted else []
        callable_ones = [each for each in found if not _rule_against(config, each)]
        return {each.id: each.content_hash for each in callable_ones[:MAX_LISTED]}


def _may_see(config: UpstreamConfig, caller: Caller) -> bool:
    by_name = not config.visible_to or bool({*config.visible_to} & {*caller.principals})
    return by_name and config.tenant in ("", caller.tenant)


def _rule_against(config: UpstreamConfig, document: ApiDocument) -> str:
    if not _matches(document.api, config.allow):
        return "the operator's list of tools that may be called does not hold it"
    if _matches(document.api, config.deny):
        return "the operator denies it"
    if document.effect not in config.effects:
        return f"its effect is {document.effect.value}, which the operator does not allow"
    return ""


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
