"""Anthropic's SDK: hits as tools that its tool runner calls, and answers to the calls of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.tools import CallableTool, Run, as_text, callable_tools
from kitpick.result import SearchResult

with needing("anthropic"):
    from anthropic.lib.tools import BetaAsyncBuiltinFunctionTool, BetaBuiltinFunctionTool
    from anthropic.types import Message, ToolResultBlockParam
    from anthropic.types.beta import BetaToolParam


class _Tool(BetaBuiltinFunctionTool):
    """One hit for the tool runner of `Anthropic`."""

    def __init__(self, tool: CallableTool) -> None:
        self._tool = tool

    def to_dict(self) -> BetaToolParam:
        return _param(self._tool)

    def call(self, input: object) -> str:  # noqa: A002 - as in the base class
        return as_text(self._tool.call(_arguments(input)))


class _AsyncTool(BetaAsyncBuiltinFunctionTool):
    """One hit for the tool runner of `AsyncAnthropic`."""

    def __init__(self, tool: CallableTool) -> None:
        self._tool = tool

    def to_dict(self) -> BetaToolParam:
        return _param(self._tool)

    async def call(self, input: object) -> str:  # noqa: A002 - as in the base class
        return as_text(await self._tool.acall(_arguments(input)))


def runnable_tools(result: SearchResult, run: Run) -> list[_Tool | _AsyncTool]:
    """The hits for `client.beta.messages.tool_runner(tools=…)`; `run` gets the API and its arguments.

    The runner of `AsyncAnthropic` takes an async `run`. `cache_control` is left to the caller.
    """
    return [_AsyncTool(tool) if tool.is_async else _Tool(tool) for tool in callable_tools(result, run)]


def tool_results(message: Message, result: SearchResult, run: Run) -> list[ToolResultBlockParam]:
    """Answers to the `tool_use` blocks of a message that mean hits, to be sent back as the user's next turn.

    Calls of other tools are left to the caller. What `run` raises becomes an error that the model reads.
    """
    known = {tool.name: tool for tool in callable_tools(result, run)}
    blocks = [block for block in message.content if block.type == "tool_use" and block.name in known]
    return [_answered(block.id, known[block.name], block.input) for block in blocks]


def _answered(call_id: str, tool: CallableTool, given: object) -> ToolResultBlockParam:
    answer: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": call_id}
    try:
        return answer | {"content": as_text(tool.call(_arguments(given)))}
    except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
        return answer | {"content": f"{type(error).__name__}: {error}", "is_error": True}


def _param(tool: CallableTool) -> BetaToolParam:
    param: BetaToolParam = {"name": tool.name, "input_schema": tool.schema}
    if tool.description:
        param["description"] = tool.description
    return param


def _arguments(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"a tool takes an object, not {type(given).__name__}")
    return given
