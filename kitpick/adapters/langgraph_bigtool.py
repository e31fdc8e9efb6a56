"""langgraph-bigtool over a catalog: the registry of its agent, and the functions that retrieve from it.

Its version 0.0.3 calls tools with `langgraph-prebuilt` before 1.0.2. With later ones it can only retrieve;
there `kitpick.adapters.langchain_agents` is the better way.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.feedback import reporting
from kitpick.adapters.langchain import structured_tool
from kitpick.adapters.tools import CallableTool, Run, tools_of
from kitpick.catalog import Catalog
from kitpick.result import Depth
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument

with needing("langgraph-bigtool"):
    from langchain_core.runnables.config import ensure_config
    from langchain_core.tools import StructuredTool, ToolException

_NOBODY = Filter()
MAX_REMEMBERED = 10_000
"""Tools of all threads that are remembered with what found them: the latest."""


class KitpickBigtool:
    """What `create_agent` takes beside the model.

    `create_agent(model, tools.registry, retrieve_tools_function=tools.retrieve_tools,
    retrieve_tools_coroutine=tools.aretrieve_tools)`. No store is needed: the catalog takes its place.
    """

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        k: Depth = 5,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | None = None,
        client: str | None = None,
    ) -> None:
        """Reads the tools of a catalog once. To follow a change, make another object and another agent.

        Args:
            catalog: where is searched.
            run: calls an API with arguments; where it is async, the agent has to be invoked with `ainvoke`.
            k: how many tools at most a retrieval finds; "auto": as many as it needs.
            filter: who asks: what they may not see is neither registered nor found.
            profile: as in `Catalog.search`.
            client: in whose name calls are feedback, where the agent is invoked with a `thread_id`: for the
                latest retrieval of the thread that found the tool. None gives none.

        Raises:
            EmptyCatalog: nothing was ingested yet.
        """
        self._search = partial(catalog.search, k=k, filter=filter, profile=profile)
        self._threads = _Threads()
        if client is not None:
            run = self._threads.reporting(run, catalog, client, filter)
        tools = tools_of(list(catalog.documents(filter)), _raising(run))
        self.registry = {tool.document.id: _registered(tool) for tool in tools}
        """Every tool that the caller may see, by id. What `run` raises is said to the model."""

    def retrieve_tools(self, query: str) -> list[str]:
        """Finds tools: say in a few words what is to be done."""
        found = self._search(query)
        ids = [] if found.abstained else [hit.id for hit in found.hits if hit.id in self.registry]
        self._threads.remember(found.id, ids)
        return ids

    async def aretrieve_tools(self, query: str) -> list[str]:
        """Finds tools: say in a few words what is to be done."""
        return await asyncio.to_thread(self.retrieve_tools, query)


class _Threads:
    """Which answer found a tool last in a thread. Safe to use from several threads of the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: OrderedDict[tuple[str, str], str] = OrderedDict()

    def remember(self, answer: str, ids: Sequence[str]) -> None:
        """Keeps the answer of a retrieval; nothing outside of a thread."""
        if not (thread := _thread_id()):
            return
        with self._lock:
            for key in ids:
                self._answers[thread, key] = answer
                self._answers.move_to_end((thread, key))
            while len(self._answers) > MAX_REMEMBERED:
                self._answers.popitem(last=False)

    def reporting(self, run: Run, catalog: Catalog, client: str, permitted: Filter) -> Run:
        """`run`, which tells the catalog what became of a call, for the answer that found the tool."""

        def told(document: ApiDocument) -> Run:
            with self._lock:
                answer = self._answers.get((_thread_id(), document.id), "")
            return reporting(run, catalog, answer, client=client, filter=permitted)

        if inspect.iscoroutinefunction(run):

            async def awaited(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - the API's
                return await told(document)(document, arguments)

            return awaited
        return lambda document, arguments: told(document)(document, arguments)


def _thread_id() -> str:
    """The thread whose turn it is; empty where the agent was invoked without one."""
    return str((ensure_config().get("configurable") or {}).get("thread_id") or "")


def _registered(tool: CallableTool) -> StructuredTool:
    registered = structured_tool(tool)
    registered.handle_tool_error = True
    return registered


def _raising(run: Run) -> Run:
    """`run` with every exception as the one that LangChain says to the model in place of ending the run."""
    if inspect.iscoroutinefunction(run):

        async def awaited(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - the API's
            with _as_tool_exception():
                return await run(document, arguments)

        return awaited

    def called(document: ApiDocument, arguments: dict[str, Any]) -> Any:  # noqa: ANN401 - the API's
        with _as_tool_exception():
            return run(document, arguments)

    return called


@contextmanager
def _as_tool_exception() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise ToolException(f"{type(error).__name__}: {error}") from error
