"""Search inside `tools/list`: the tools that a client's `query` finds, page by page, to be called by name.

As proposed in SEP-1821 of the Model Context Protocol; clients that send no `query` never come here.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from functools import partial
from typing import Any

import mcp_types as types
from anyio.to_thread import run_sync
from mcp import MCPError
from pydantic import ValidationError

from kitpick.catalog import Catalog
from kitpick.mcp.config import Caller
from kitpick.mcp.proxy import Proxy
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.visible import is_blank
from kitpick_ingest.definitions import render_definitions
from kitpick_rescorers.errors import EmptyCatalog

MAX_QUERY = 20_000
MOST, PAGE = 100, 20
"""Tools that one query finds, and how many of them a page has."""
MISSING = "kitpick/missing_servers"
"""Key of `_meta` with the names of servers whose tools are not there yet."""
_CURSORS = frozenset(map(str, range(PAGE, MOST, PAGE)))
_MOST_NAMES = 10_000
"""Names that can be called, those listed latest."""
_log = logging.getLogger("kitpick.mcp")


class QueriedTools:
    """Lists what a query finds among the tools that a caller may call, and remembers under which names."""

    def __init__(self, catalog: Catalog, proxy: Proxy, profile: str | None) -> None:
        self._catalog = catalog
        self._proxy = proxy
        self._profile = profile
        self._ids: OrderedDict[str, str] = OrderedDict()

    async def page(self, query: object, cursor: str | None, caller: Caller) -> types.ListToolsResult:
        """The tools of a page, best first; none where nothing is likely to do it.

        Raises:
            MCPError: a query that is no text, is empty or too long, or another's cursor.
        """
        if not isinstance(query, str) or is_blank(query) or len(query) > MAX_QUERY:
            raise MCPError(types.INVALID_PARAMS, f"`query` is a text of 1 to {MAX_QUERY:,} characters")
        start = _start(cursor)
        missing = await self._proxy.settled(caller)
        found = await self._search(query, caller)
        callable_ = [document for document in found if not self._proxy.refusal(document, caller)]
        shown = callable_[start : start + PAGE]
        definitions = zip(shown, render_definitions(shown, "mcp"), strict=True)
        tools = [
            tool for document, one in definitions if (tool := self._remembered(document, one)) is not None
        ]
        more = str(start + PAGE) if start + PAGE < len(callable_) else None
        meta = {MISSING: missing} if missing else None
        return types.ListToolsResult(tools=tools, next_cursor=more, _meta=meta)

    async def named(self, name: str, caller: Caller) -> ApiDocument | None:
        """The tool that was listed under this name, if this caller may see it."""
        if name not in self._ids:
            return None
        found = await run_sync(self._catalog.engine.fetch, [self._ids[name]], caller.filter)
        return found[0] if found else None

    async def _search(self, query: str, caller: Caller) -> list[ApiDocument]:
        ask = partial(self._catalog.search, query, k=MOST, filter=caller.filter, profile=self._profile)
        try:
            result = await run_sync(ask)
        except EmptyCatalog:
            return []
        except KitpickError as error:
            raise MCPError(types.INTERNAL_ERROR, str(error)) from error
        return [] if result.abstained else [hit.document for hit in result.hits]

    def _remembered(self, document: ApiDocument, definition: dict[str, Any]) -> types.Tool | None:
        """The definition as a tool. A name that stands for another tool already is not given twice."""
        tool = as_listed(definition)
        if tool is None:
            return None
        if self._ids.setdefault(tool.name, document.id) != document.id:
            _log.warning("%s is not listed: another tool was listed under its name", document.id)
            return None
        self._ids.move_to_end(tool.name)
        if len(self._ids) > _MOST_NAMES:
            self._ids.popitem(last=False)
        return tool


def as_listed(definition: dict[str, Any]) -> types.Tool | None:
    """A definition as its server wrote it; None where it is none by the protocol."""
    try:
        return types.Tool.model_validate(definition)
    except ValidationError as error:
        _log.warning("%s is not listed: %s", definition["name"], error.errors()[0]["msg"])
        return None


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if cursor not in _CURSORS:
        raise MCPError(types.INVALID_PARAMS, "`cursor` is `nextCursor` of an answer to the same `query`")
    return int(cursor)
