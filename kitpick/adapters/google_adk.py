"""Google's Agent Development Kit: hits as tools of an agent, and a toolset chosen for each request."""

from __future__ import annotations

from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.retrieval import ToolRetrieval
from kitpick.adapters.tools import CallableTool, Run, call_beside, callable_tools
from kitpick.catalog import Catalog
from kitpick.conversation import Messages, until_request
from kitpick.result import SearchResult

with needing("google-adk"):
    from google.adk.agents.readonly_context import ReadonlyContext
    from google.adk.tools.base_tool import BaseTool
    from google.adk.tools.base_toolset import BaseToolset
    from google.adk.tools.tool_context import ToolContext
    from google.genai import types


def adk_tools(result: SearchResult, run: Run) -> list[BaseTool]:
    """The hits as tools: `LlmAgent(tools=adk_tools(result, run))`."""
    return [AdkTool(tool) for tool in callable_tools(result, run)]


class AdkTool(BaseTool):
    """One API. What `run` raises is said to the model."""

    def __init__(self, tool: CallableTool) -> None:
        super().__init__(name=tool.name, description=tool.description)
        self._tool = tool

    def _get_declaration(self) -> types.FunctionDeclaration:
        tool = self._tool
        return types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> Any:  # noqa: ANN401 - as the API gives
        """Calls the API."""
        try:
            return await call_beside(self._tool, args)
        except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
            return {"error": f"{type(error).__name__}: {error}"}


class KitpickAdkToolset(BaseToolset):
    """The tools that a conversation needs: a search for each message of the user, read with those before."""

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        client: str | None = None,
        **wanted: Any,  # noqa: ANN401 - checked
    ) -> None:
        """`wanted` are `k`, `budget`, `filter` and `profile` of a search.

        With a client, calls are feedback in its name.

        Raises:
            InvalidArguments: an unknown one, or a value out of range.
        """
        super().__init__()
        self._retrieval = ToolRetrieval(catalog, run, client, **wanted)
        self._last: tuple[Messages, list[BaseTool]] = ([], [])

    async def get_tools(self, readonly_context: ReadonlyContext | None = None) -> list[BaseTool]:
        """Tools for the message that this invocation answers; none without one."""
        request = until_request(_messages(readonly_context)) if readonly_context is not None else []
        if not request:
            return []
        known, tools = self._last
        if known != request:
            tools = [AdkTool(tool) for tool in await self._retrieval.atools(request)]
            self._last = (request, tools)
        return tools

    async def close(self) -> None:
        """Holds nothing open."""


def _messages(context: ReadonlyContext) -> list[dict[str, Any]]:
    """The session as messages of Gemini's API."""
    said = [content for event in context.session.events if (content := event.content) is not None]
    if context.user_content is not None and context.user_content not in said:
        said.append(context.user_content)
    return [content.model_dump(exclude_none=True) for content in said]
