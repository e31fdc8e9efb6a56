"""OpenAI Agents SDK: hits as tools of an agent, and an agent's own tools narrowed to what a run needs."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from kitpick.adapters.errors import needing
from kitpick.adapters.offered_tools import OfferedTools
from kitpick.adapters.tools import CallableTool, Run, as_text, callable_tools
from kitpick.result import SearchResult
from kitpick_foundation.decoding import decode_as
from kitpick_foundation.errors import KitpickError

with needing("openai-agents"):
    from agents import FunctionTool, RunContextWrapper
    from agents.tool_context import ToolContext

_log = logging.getLogger(__name__)

RequestOf = Callable[[RunContextWrapper[Any]], str]
"""What the user wants, out of the context that was passed to `Runner.run`."""


def agent_tools(result: SearchResult, run: Run) -> list[FunctionTool]:
    """The hits as tools of an agent; `run` is called with the API and its arguments.

    `strict` is as the publisher said. Arguments that are no JSON object come back to the model as an error.
    What `run` raises ends the agent's run: catch what a model can mend.
    """
    return [_function_tool(tool) for tool in callable_tools(result, run)]


def enabled_for_request(
    tools: Sequence[FunctionTool], k: int, request: RequestOf, offered: OfferedTools
) -> list[FunctionTool]:
    """An agent's tools, of which each run sees the k best for its request; tools disabled already stay so.

    Where they cannot be ranked, all are enabled.
    """
    chosen = _Chosen(tools, k, request, offered)
    return [dataclasses.replace(tool, is_enabled=chosen.rule(tool)) for tool in tools]


class _Chosen:
    """Names of the tools for a run: asked for once, however many tools want to know."""

    def __init__(
        self, tools: Sequence[FunctionTool], k: int, request: RequestOf, offered: OfferedTools
    ) -> None:
        self._definitions = [_definition(tool) for tool in tools]
        self._k = k
        self._request = request
        self._offered = offered
        self._asked: WeakKeyDictionary[Any, dict[str, asyncio.Task[frozenset[str]]]] = WeakKeyDictionary()

    def rule(self, tool: FunctionTool) -> Callable[[RunContextWrapper[Any], Any], Any]:
        """Whether a tool is enabled, as the SDK asks."""
        before = tool.is_enabled

        async def enabled(context: RunContextWrapper[Any], agent: Any) -> bool:  # noqa: ANN401 - the SDK's
            was = before(context, agent) if callable(before) else before
            if not (await was if inspect.isawaitable(was) else was):
                return False
            return tool.name in await self._names(context)

        return enabled

    async def _names(self, context: RunContextWrapper[Any]) -> frozenset[str]:
        request = self._request(context)
        tasks = self._asked.setdefault(context, {})
        if request not in tasks:
            tasks[request] = asyncio.create_task(self._search(request))
        return await asyncio.shield(tasks[request])

    async def _search(self, request: str) -> frozenset[str]:
        try:
            result = await asyncio.to_thread(self._offered.search, request, self._definitions, self._k)
        except KitpickError as error:
            _log.warning("degraded: every tool is enabled: %s", error)
            return frozenset(definition["name"] for definition in self._definitions)
        return frozenset(hit.document.api for hit in result.hits)


def _definition(tool: FunctionTool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}


def _function_tool(tool: CallableTool) -> FunctionTool:
    async def invoke(context: ToolContext[Any], arguments: str) -> str:
        try:
            given = decode_as(arguments or "{}", dict[str, Any])
        except msgspec.MsgspecError as error:
            return f"the arguments are no JSON object: {error}"
        return as_text(await tool.acall(given))

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=tool.schema,
        on_invoke_tool=invoke,
        strict_json_schema=tool.strict,
    )
