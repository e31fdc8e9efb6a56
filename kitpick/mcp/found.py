"""Search inside `tools/list`: the tools that a client's `query` finds, page by page, to be called by name.

As proposed in SEP-1821 of the Model Context Protocol; clients that send no `query` never come here.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterable
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
from kitpick_foundation.places import NOWHERE, HiddenPlaces
from kitpick_foundation.visible import is_blank
from kitpick_ingest.definitions import render_definitions
from kitpick_rescorers.errors import EmptyCatalog

MAX_QUERY = 20_000
MOST, PAGE = 100, 20
"""Tools that one query finds, and how many of them a page has."""
GROUPS = "io.modelcontextprotocol/groups"
"""Key of a tool's `_meta` with the group that it belongs to: its server, as SEP-2084 proposes groups."""
MISSING = "kitpick/missing_servers"
"""Key of `_meta` with the names of servers whose tools are not there yet."""
_LARGEST = 128 * 1024
"""Characters of a definition in a list of tools; `get_definition` gives larger ones."""
_CURSORS = frozenset(map(str, range(PAGE, MOST, PAGE)))
_MOST_NAMES = 10_000
"""Names that can be called, of all callers."""
_log = logging.getLogger("kitpick.mcp")


class ListedNames:
    """Ids of tools by the names under which each caller was shown them.

    Where they are too many, those that the caller with most was shown longest ago are forgotten: nobody's
    queries take away what others were shown.
    """

    def __init__(self, most: int = _MOST_NAMES) -> None:
        self._most = most
        self._held = 0
        self._ids: dict[Caller, OrderedDict[str, str]] = {}

    def of(self, caller: Caller, name: str) -> str | None:
        """The id of the tool that this caller was shown under this name."""
        mine = self._ids.get(caller)
        return None if mine is None else mine.get(name)

    def add(self, caller: Caller, name: str, id_: str) -> bool:
        """Remembers a name; False where this caller was shown another tool under it."""
        mine = self._ids.setdefault(caller, OrderedDict())
        self._held += name not in mine
        if mine.setdefault(name, id_) != id_:
            return False
        mine.move_to_end(name)
        if self._held > self._most:
            self._forget_one()
        return True

    def _forget_one(self) -> None:
        caller, names = max(self._ids.items(), key=lambda item: len(item[1]))
        names.popitem(last=False)
        self._held -= 1
        if not names:
            del self._ids[caller]


class QueriedTools:
    """Lists what a query finds among the tools that a caller may call, and remembers under which names."""

    def __init__(
        self, catalog: Catalog, proxy: Proxy, profile: str | None, places: HiddenPlaces = NOWHERE
    ) -> None:
        """`places` are those that callers are not told of."""
        self._catalog = catalog
        self._places = places
        self._proxy = proxy
        self._profile = profile
        self._names = ListedNames()

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
        callable_ = small_enough(
            [document for document in found if not self._proxy.refusal(document, caller)]
        )
        shown = callable_[start : start + PAGE]
        definitions = zip(shown, render_definitions(shown, "mcp"), strict=True)
        tools = [
            tool
            for document, one in definitions
            if (tool := self._remembered(document, one, caller)) is not None
        ]
        more = str(start + PAGE) if start + PAGE < len(callable_) else None
        meta = {MISSING: missing} if missing else None
        return types.ListToolsResult(tools=tools, next_cursor=more, _meta=meta)

    async def named(self, name: str, caller: Caller) -> ApiDocument | None:
        """The tool that this caller was shown under this name, if they may still see it."""
        id_ = self._names.of(caller, name)
        if id_ is None:
            return None
        found = await run_sync(self._catalog.engine.fetch, [id_], caller.filter)
        return found[0] if found else None

    async def _search(self, query: str, caller: Caller) -> list[ApiDocument]:
        ask = partial(self._catalog.search, query, k=MOST, filter=caller.filter, profile=self._profile)
        try:
            result = await run_sync(ask)
        except EmptyCatalog:
            return []
        except KitpickError as error:
            raise MCPError(types.INTERNAL_ERROR, self._places.hidden(str(error))) from error
        return [] if result.abstained else [hit.document for hit in result.hits]

    def _remembered(
        self, document: ApiDocument, definition: dict[str, Any], caller: Caller
    ) -> types.Tool | None:
        """The definition as a tool. A name that stands for another tool already is not given twice."""
        tool = as_listed(document, definition)
        if tool is None:
            return None
        if not self._names.add(caller, tool.name, document.id):
            _log.warning("%s is not listed: another tool was listed under its name", document.id)
            return None
        return tool


def small_enough(documents: Iterable[ApiDocument]) -> list[ApiDocument]:
    """Those that a list of tools can hold: a list is read whole by every client, and by models."""
    kept = []
    for document in documents:
        if len(document.definition) <= _LARGEST:
            kept.append(document)
        else:
            size = len(document.definition)
            _log.warning("%s is not listed: its definition has %d characters", document.id, size)
    return kept


def as_listed(document: ApiDocument, definition: dict[str, Any]) -> types.Tool | None:
    """A definition as its server wrote it, in the group of that server; None where it is none by protocol."""
    try:
        tool = types.Tool.model_validate(definition)
    except ValidationError as error:
        _log.warning("%s is not listed: %s", definition["name"], error.errors()[0]["msg"])
        return None
    return tool.model_copy(update={"meta": {**(tool.meta or {}), GROUPS: [document.source]}})


def _start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if cursor not in _CURSORS:
        raise MCPError(types.INVALID_PARAMS, "`cursor` is `nextCursor` of an answer to the same `query`")
    return int(cursor)
