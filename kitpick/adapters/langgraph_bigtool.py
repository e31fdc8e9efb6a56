"""langgraph-bigtool over a catalog: the registry of its agent, and the functions that retrieve from it.

Its version 0.0.3 calls tools with `langgraph-prebuilt` before 1.0.2. With later ones it can only retrieve;
there `kitpick.adapters.langchain_agents` is the better way.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.langchain import structured_tool
from kitpick.adapters.tools import CallableTool, Run, tools_of
from kitpick.catalog import Catalog
from kitpick.result import Depth
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument

with needing("langgraph-bigtool"):
    from langchain_core.tools import StructuredTool, ToolException

_NOBODY = Filter()


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
    ) -> None:
        """Reads the tools of a catalog once. To follow a change, make another object and another agent.

        Args:
            catalog: where is searched.
            run: calls an API with arguments; where it is async, the agent has to be invoked with `ainvoke`.
            k: how many tools at most a retrieval finds; "auto": as many as it needs.
            filter: who asks: what they may not see is neither registered nor found.
            profile: as in `Catalog.search`.

        Raises:
            EmptyCatalog: nothing was ingested yet.
        """
        self._search = partial(catalog.search, k=k, filter=filter, profile=profile)
        tools = tools_of(list(catalog.documents(filter)), _raising(run))
        self.registry = {tool.document.id: _registered(tool) for tool in tools}
        """Every tool that the caller may see, by id. What `run` raises is said to the model."""

    def retrieve_tools(self, query: str) -> list[str]:
        """Finds tools: say in a few words what is to be done."""
        found = self._search(query)
        return [] if found.abstained else [hit.id for hit in found.hits if hit.id in self.registry]

    async def aretrieve_tools(self, query: str) -> list[str]:
        """Finds tools: say in a few words what is to be done."""
        return await asyncio.to_thread(self.retrieve_tools, query)


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
