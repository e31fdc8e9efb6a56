"""Chooses among tools that a request brings along: a catalog of exactly these, kept for the next request."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from kitpick.adapters.errors import TooManyTools
from kitpick.catalog import Catalog
from kitpick.result import SearchResult
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.forks import fork_lock
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.function_schemas import FunctionSchemasSource
from kitpick_ingest.sync import SyncOptions

MAX_LISTS = 100
"""Tool lists that are kept: agents come with the same few again and again."""
MAX_TOOLS = 1_000
"""Tools of a list: a new list is embedded, and nobody's request may take minutes of that."""
MAX_REQUEST = 4_000
"""Characters of a request that are searched with."""


class OfferedTools:
    """Ranks function definitions of OpenAI, Anthropic or Gemini against each other. Thread-safe.

    Each list of tools is a tenant of one catalog in a temporary file, so that no list ever sees another's.
    """

    def __init__(self, settings: Settings | None = None, max_lists: int = MAX_LISTS) -> None:
        """Models, profile and rescorer are those of the settings."""
        self._folder = tempfile.TemporaryDirectory(prefix="kitpick-offered-")
        self._path = Path(self._folder.name)
        self._catalog = Catalog.open(f"sqlite:{self._path / 'offered.db'}", settings=settings)
        self._known: OrderedDict[str, str] = OrderedDict()
        """The source that holds each list."""
        self._free = [f"list-{number}" for number in range(max_lists)]
        """Sources that hold none. There are never more: each has a lock file."""
        self._lock = fork_lock()
        self._taking_in = fork_lock()

    def search(self, request: str, tools: Sequence[dict[str, Any]], k: int) -> SearchResult:
        """The k best of these tools; each hit's `document.api` is the name of a function.

        Raises:
            TooManyTools: more than `MAX_TOOLS`.
            IngestError, EngineError, ModelError, RescorerError: they cannot be ranked.
        """
        if len(tools) > MAX_TOOLS:
            raise TooManyTools(len(tools), MAX_TOOLS)
        listed = json.dumps(tools, sort_keys=True)
        name = hashlib.blake2b(listed.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        if not self._touch(name):
            with self._taking_in:
                self._take_in(name, listed)
        return self._catalog.search(request[:MAX_REQUEST], k, filter=Filter(tenant=name))

    def close(self) -> None:
        """Removes what was kept."""
        self._catalog.close()
        self._folder.cleanup()

    def _touch(self, name: str) -> bool:
        """Whether a list is known; it is the most recent one now."""
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
            return name in self._known

    def _take_in(self, name: str, listed: str) -> None:
        if self._touch(name):  # somebody else was quicker
            return
        with self._lock:
            source = self._free.pop() if self._free else self._known.popitem(last=False)[1]
        try:
            self._sync(source, name, listed)
        except BaseException:
            self._free.append(source)
            raise
        with self._lock:
            self._known[name] = source

    def _sync(self, source: str, name: str, listed: str) -> None:
        file = self._path / "tools.json"
        file.write_text(listed, "utf-8")
        options = SyncOptions(allow_shrink=True, locks=self._path, reread=True)
        self._catalog.ingest(_Offered(file, source, name), options=options)


class _Offered:
    """Functions of a file as the documents of a tenant."""

    def __init__(self, file: Path, name: str, tenant: str) -> None:
        self.name = name
        self._tenant = tenant
        self._functions = FunctionSchemasSource(file, name)

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        """The documents, without a trace of the source's name in what models read of them."""
        for item in self._functions.read():
            if isinstance(item, ApiDocument):
                tool = "functions" if item.tool == self.name else item.tool
                yield replace(item, tool=tool, tenant=self._tenant)


def function_name(tool: object) -> str:
    """Name of the function that a definition describes; empty for a hosted tool."""
    if not isinstance(tool, dict) or tool.get("type", "function") not in ("function", "custom"):
        return ""
    return _name(tool.get("function", tool))


def forced_names(body: dict[str, Any]) -> set[str]:
    """Functions that `tool_choice` of a request to a language model names."""
    choice = body.get("tool_choice")
    if not isinstance(choice, dict):
        return set()
    allowed = choice.get("allowed_tools", choice)
    tools = allowed.get("tools") if isinstance(allowed, dict) else None
    choices = [choice, *(tools if isinstance(tools, list) else [])]
    return {_name(item.get("function", item)) for item in choices if isinstance(item, dict)} - {""}


def _name(function: object) -> str:
    name = function.get("name") if isinstance(function, dict) else None
    return name if isinstance(name, str) else ""
