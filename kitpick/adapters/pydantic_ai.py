"""Pydantic AI: hits as tools, and a toolset that searches while an agent works."""

from __future__ import annotations

import asyncio
from typing import Any

from kitpick.adapters.conversation_tools import DESCRIPTION, SEARCH, SEARCH_SCHEMA, ConversationTools
from kitpick.adapters.errors import needing
from kitpick.adapters.tools import CallableTool, Run, call_beside, callable_tools
from kitpick.result import SearchResult

with needing("pydantic-ai"):
    from pydantic_ai import ModelRetry, RunContext, Tool
    from pydantic_ai.messages import ModelMessage, ToolReturn, ToolReturnPart
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
    from pydantic_core import SchemaValidator, core_schema

_ANYTHING = SchemaValidator(core_schema.dict_schema())


def pydantic_ai_tools(result: SearchResult, run: Run) -> list[Tool[Any]]:
    """The hits as tools of an agent: `Agent(model, tools=pydantic_ai_tools(result, run))`."""
    return [_tool(tool) for tool in callable_tools(result, run)]


class KitpickToolset(AbstractToolset[Any]):
    """A search over a catalog, and the tools that it found in this conversation.

    `Agent(model, toolsets=[KitpickToolset(ConversationTools(catalog, run))])`
    """

    def __init__(self, tools: ConversationTools, id: str = "kitpick") -> None:  # noqa: A002
        self._tools = tools
        self._id = id

    @property
    def id(self) -> str:
        """Its name among the toolsets of an agent."""
        return self._id

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The search first, then what was found, in that order in each step."""
        search = ToolDefinition(name=SEARCH, description=DESCRIPTION, parameters_json_schema=SEARCH_SCHEMA)
        found = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
            for tool in await self._loaded(ctx)
        ]
        return {
            each.name: ToolsetTool(toolset=self, tool_def=each, max_retries=1, args_validator=_ANYTHING)
            for each in (search, *found)
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401 - whatever the API gives
        """Searches, or calls what was found."""
        if name == SEARCH:
            findings = await asyncio.to_thread(self._tools.search, tool_args)
            return ToolReturn(return_value=findings.text, metadata=findings.kept())
        found = {each.name: each for each in await self._loaded(ctx)}
        if name not in found:
            raise ModelRetry(f"the tool {name[:100]!r} is not there any more: search again")
        return await call_beside(found[name], tool_args)

    async def _loaded(self, ctx: RunContext[Any]) -> list[CallableTool]:
        return await asyncio.to_thread(self._tools.loaded, _kept(ctx.messages))


def _kept(messages: list[ModelMessage]) -> list[object]:
    """What the answers of the search brought along."""
    return [
        part.metadata
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart) and part.tool_name == SEARCH
    ]


def _tool(tool: CallableTool) -> Tool[Any]:
    return Tool.from_schema(
        tool.function, name=tool.name, description=tool.description, json_schema=tool.schema
    )
