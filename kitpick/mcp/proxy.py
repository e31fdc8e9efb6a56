"""Calling what was found: which upstream a document belongs to, and whether this caller may."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from anyio.to_thread import run_sync

from kitpick.catalog import Catalog
from kitpick.mcp.config import Caller, McpConfig, UpstreamConfig
from kitpick.mcp.errors import CallRefused
from kitpick.mcp.upstream import Upstream
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError
from kitpick_ingest.labelled import LabelledSource, Labels
from kitpick_ingest.sources.mcp_endpoint import Listing
from kitpick_ingest.sources.mcp_live import ListedTools
from kitpick_ingest.sync import SyncOptions

_FIRST_LISTING_SECONDS = 30.0
_log = logging.getLogger("kitpick.mcp")


class Proxy:
    """The upstreams of a door, and the rules of calling them."""

    def __init__(self, catalog: Catalog, config: McpConfig) -> None:
        self._catalog = catalog
        self._lock, self._hold_back = config.lock, config.hold_back
        self._upstreams = {
            upstream.name: Upstream(upstream, partial(self._take_in, upstream))
            for upstream in config.upstreams
        }

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keeps the upstreams connected and the catalog in line with them."""
        async with anyio.create_task_group() as group:
            for upstream in self._upstreams.values():
                group.start_soon(upstream.run)
            yield
            group.cancel_scope.cancel()

    async def settled(self) -> None:
        """Waits, not for ever, until every upstream was listed once or failed to be."""
        with anyio.move_on_after(_FIRST_LISTING_SECONDS):
            for upstream in self._upstreams.values():
                await upstream.settled.wait()

    def refusal(self, document: ApiDocument, caller: Caller) -> str:
        """Why this caller cannot call this tool; empty where they can."""
        upstream = self._upstreams.get(document.source)
        if upstream is None:
            return "no server is configured that would run it"
        if not caller.may_call:
            return "this caller may search and not call"
        return _rule_against(upstream.config, document)

    async def call(
        self, document: ApiDocument, arguments: dict[str, Any], caller: Caller
    ) -> types.CallToolResult:
        """Passes a call on, with the operator's credentials, never the caller's.

        Raises:
            CallRefused: it may not be called.
            UpstreamFailed: the server did not answer as it should.
        """
        if reason := self.refusal(document, caller):
            raise CallRefused(document.id, reason)
        _log.info("%s calls %s", caller.name, document.id)
        return await self._upstreams[document.source].call(document.api, arguments)

    async def _take_in(self, config: UpstreamConfig, listing: Listing) -> None:
        """Brings the catalog in line with a new list of tools; a failure leaves the old one."""
        labels = Labels(category=config.category, tenant=config.tenant, allowed=config.visible_to)
        source = LabelledSource(ListedTools(config.name, config.endpoint.where, listing), labels)
        options = SyncOptions(allow_shrink=config.allow_shrink, lock=self._lock, hold_back=self._hold_back)
        try:
            report = await run_sync(partial(self._catalog.ingest, source, options=options))
        except KitpickError as error:
            _log.warning("upstream %s: its tools were not taken in: %s", config.name, error)
        else:
            numbers = (report.added, report.changed, report.deleted, report.embedded)
            _log.info("upstream %s: +%d ~%d -%d, %d embedded", config.name, *numbers)
            for each in report.unapproved:
                fate = "held back" if each.held_back else "taken in"
                _log.warning(
                    "upstream %s: not as approved (%s), %s: %s", config.name, each.difference, fate, each.id
                )


def _rule_against(config: UpstreamConfig, document: ApiDocument) -> str:
    if not any(fnmatchcase(document.api, pattern) for pattern in config.allow):
        return "the operator's list of tools that may be called does not hold it"
    if any(fnmatchcase(document.api, pattern) for pattern in config.deny):
        return "the operator denies it"
    if document.effect not in config.effects:
        return f"its effect is {document.effect.value}, which the operator does not allow"
    return ""
