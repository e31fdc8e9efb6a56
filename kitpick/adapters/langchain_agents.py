"""LangChain's agents: a search over a catalog while an agent works."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from kitpick.adapters.conversation_tools import DESCRIPTION, SEARCH, SEARCH_SCHEMA, ConversationTools
from kitpick.adapters.errors import needing
from kitpick.adapters.tools import CallableTool, answered_beside, as_text

with needing("langchain"):
    from langchain_core.messages import BaseMessage, ToolMessage
    from langchain_core.tools import BaseTool, StructuredTool
with needing("langchain-agents"):
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langgraph.prebuilt.tool_node import ToolCallRequest

from kitpick.adapters.langchain import structured_tool


class KitpickMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent a search over a catalog, and from then on the tools that it found.

    `create_agent(model, tools, middleware=[KitpickMiddleware(ConversationTools(catalog, run))])`. Definitions
    are appended behind the agent's own tools.
    """

    def __init__(self, tools: ConversationTools) -> None:
        super().__init__()
        self._tools = tools
        self.tools = [_search_tool(tools)]

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Shows the model what was found."""
        return handler(_shown(request, self._tools.loaded(_kept(request.messages))))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Likewise."""
        found = await asyncio.to_thread(self._tools.loaded, _kept(request.messages))
        return await handler(_shown(request, found))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:  # noqa: ANN401 - the framework's
        """Runs a call of what was found; other calls are the agent's own."""
        tool = self._called(request)
        return handler(request) if tool is None else _answered(request, tool.call)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:  # noqa: ANN401 - the framework's
        """Likewise; `run` may be async."""
        tool = await asyncio.to_thread(self._called, request)
        if tool is None:
            return await handler(request)
        text, failed = await answered_beside(tool, request.tool_call["args"])
        return _message(request, text, failed=failed)

    def _called(self, request: ToolCallRequest) -> CallableTool | None:
        if request.tool is not None:
            return None
        name = request.tool_call["name"]
        found = self._tools.loaded(_kept(request.state["messages"]))
        return next((tool for tool in found if tool.name == name), None)


def _search_tool(tools: ConversationTools) -> BaseTool:
    def search(**arguments: object) -> tuple[str, dict[str, Any]]:
        findings = tools.search(arguments)
        return findings.text, findings.kept()

    return StructuredTool(
        name=SEARCH,
        description=DESCRIPTION,
        args_schema=SEARCH_SCHEMA,
        func=search,
        response_format="content_and_artifact",
    )


def _shown(request: ModelRequest[Any], found: Sequence[CallableTool]) -> ModelRequest[Any]:
    return request.override(tools=[*request.tools, *(structured_tool(tool) for tool in found)])


def _kept(messages: Sequence[BaseMessage]) -> list[object]:
    """What the answers of the search brought along."""
    return [
        message.artifact
        for message in messages
        if isinstance(message, ToolMessage) and message.name == SEARCH
    ]


def _answered(request: ToolCallRequest, call: Callable[[dict[str, Any]], Any]) -> ToolMessage:
    try:
        return _message(request, as_text(call(request.tool_call["args"])))
    except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
        return _message(request, f"{type(error).__name__}: {error}", failed=True)


def _message(request: ToolCallRequest, text: str, *, failed: bool = False) -> ToolMessage:
    call = request.tool_call
    status = "error" if failed else "success"
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
