"""Strands: hits as tools of an agent."""

from __future__ import annotations

from typing import Any, Literal

from kitpick.adapters.errors import needing
from kitpick.adapters.tools import CallableTool, Run, answered_beside, callable_tools
from kitpick.result import SearchResult

with needing("strands"):
    from strands.tools.tools import PythonAgentTool
    from strands.types.tools import ToolResult, ToolSpec, ToolUse


def strands_tools(result: SearchResult, run: Run) -> list[PythonAgentTool]:
    """The hits as tools of `Agent(tools=…)`. What `run` raises is said to the model."""
    return [_tool(tool) for tool in callable_tools(result, run)]


def _tool(tool: CallableTool) -> PythonAgentTool:
    async def call(tool_use: ToolUse, **more: Any) -> ToolResult:  # noqa: ANN401 - the framework's
        text, failed = await answered_beside(tool, tool_use["input"])
        status: Literal["error", "success"] = "error" if failed else "success"
        return ToolResult(toolUseId=tool_use["toolUseId"], status=status, content=[{"text": text}])

    spec = ToolSpec(
        name=tool.name, description=tool.description or tool.name, inputSchema={"json": tool.schema}
    )
    return PythonAgentTool(tool.name, spec, call)
