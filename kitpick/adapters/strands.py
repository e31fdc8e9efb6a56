"""Strands: hits as tools of an agent."""

from __future__ import annotations

from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.tools import CallableTool, Run, as_text, call_beside, callable_tools
from kitpick.result import SearchResult

with needing("strands"):
    from strands.tools.tools import PythonAgentTool
    from strands.types.tools import ToolResult, ToolSpec, ToolUse


def strands_tools(result: SearchResult, run: Run) -> list[PythonAgentTool]:
    """The hits as tools of `Agent(tools=…)`. What `run` raises is said to the model."""
    return [_tool(tool) for tool in callable_tools(result, run)]


def _tool(tool: CallableTool) -> PythonAgentTool:
    async def call(tool_use: ToolUse, **more: Any) -> ToolResult:  # noqa: ANN401 - the framework's
        arguments = tool_use["input"]
        try:
            answer = await call_beside(tool, arguments)
        except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
            return _result(tool_use, f"{type(error).__name__}: {error}", failed=True)
        return _result(tool_use, as_text(answer), failed=False)

    spec = ToolSpec(
        name=tool.name, description=tool.description or tool.name, inputSchema={"json": tool.schema}
    )
    return PythonAgentTool(tool.name, spec, call)


def _result(tool_use: ToolUse, text: str, *, failed: bool) -> ToolResult:
    return ToolResult(
        toolUseId=tool_use["toolUseId"],
        status="error" if failed else "success",
        content=[{"text": text}],
    )
