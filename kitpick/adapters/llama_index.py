"""LlamaIndex: a retriever of tools for agents."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.retrieval import ToolRetrieval
from kitpick.adapters.tools import CallableTool, Run, callable_tools
from kitpick.catalog import Catalog
from kitpick.result import SearchResult
from kitpick_foundation.forks import fork_lock

with needing("llama-index"):
    from llama_index.core.objects import ObjectRetriever
    from llama_index.core.schema import QueryType
    from llama_index.core.tools import FunctionTool, ToolMetadata

MAX_OFFERED = 1_000
"""Tools that a retriever knows by their names: those offered last."""


def llama_index_tools(result: SearchResult, run: Run) -> list[FunctionTool]:
    """The hits as tools of an agent; `run` gets the API and its arguments."""
    return [_tool(tool) for tool in callable_tools(result, run)]


class KitpickToolRetriever(ObjectRetriever[FunctionTool]):
    """The tools of a catalog that a request needs: the `tool_retriever` of an agent.

    An agent tells its retriever nothing but the text of the last message. Where follow-ups matter, give it
    `llama_index_tools(catalog.search(messages), run)` instead.

    Before an agent calls a tool, it asks again, with the tool's name in place of the request. Then it is
    given the tool that it was offered, and never one that it was not.
    """

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        client: str | None = None,
        **arguments: Any,  # noqa: ANN401 - checked
    ) -> None:
        """`run` is called with the API and its arguments; `arguments` are those of `Catalog.search`.

        With a client, calls are feedback in its name.

        Raises:
            InvalidArguments: they are not.
        """
        self._retrieval = ToolRetrieval(catalog, run, client, **arguments)
        self._lock = fork_lock()
        self._offered: OrderedDict[str, CallableTool] = OrderedDict()

    def retrieve(self, str_or_query_bundle: QueryType) -> list[FunctionTool]:
        """Tools for a request, best first; raises as `Catalog.search`."""
        asked = _text(str_or_query_bundle)
        if tool := self._named(asked):
            return [_tool(tool)]
        return self._offer(asked, self._retrieval.tools(asked))

    async def aretrieve(self, str_or_query_bundle: QueryType) -> list[FunctionTool]:
        """`retrieve` without blocking the loop."""
        asked = _text(str_or_query_bundle)
        if tool := self._named(asked):
            return [_tool(tool)]
        return self._offer(asked, await self._retrieval.atools(asked))

    def _named(self, asked: str) -> CallableTool | None:
        """The tool that was offered under this name."""
        with self._lock:
            return self._offered.get(asked)

    def _offer(self, asked: str, found: Sequence[CallableTool]) -> list[FunctionTool]:
        """Remembers what was found; what has the request for its name is about to be called unoffered."""
        offered = [tool for tool in found if tool.name != asked]
        with self._lock:
            for tool in offered:
                self._offered[tool.name] = tool
                self._offered.move_to_end(tool.name)
            while len(self._offered) > MAX_OFFERED:
                self._offered.popitem(last=False)
        return [_tool(tool) for tool in offered]


class _Metadata(ToolMetadata):
    """Takes the arguments' JSON Schema as it was published instead of a pydantic model."""

    def __init__(self, tool: CallableTool) -> None:
        super().__init__(description=tool.description, name=tool.name, fn_schema=None)
        self._schema = tool.schema

    def get_parameters_dict(self) -> dict[str, Any]:
        return self._schema


def _tool(tool: CallableTool) -> FunctionTool:
    if tool.is_async:
        return FunctionTool(async_fn=tool.function, metadata=_Metadata(tool))
    return FunctionTool(fn=tool.function, metadata=_Metadata(tool))


def _text(query: QueryType) -> str:
    return query if isinstance(query, str) else query.query_str
