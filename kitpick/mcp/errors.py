"""Errors of the MCP server for agents."""

from __future__ import annotations

from kitpick_foundation.errors import KitpickError


class InvalidMcpConfig(KitpickError):
    """A configuration that does not say what it must."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")


class ToolProblem(KitpickError):
    """An error that the calling model reads as the result of its tool call."""


class UnknownTool(ToolProblem):
    """An id that does not exist, or that this caller may not see: no answer shows which of the two."""

    def __init__(self, tool_id: str, near: str = "") -> None:
        cure = f"{near} " if near.endswith("?") else ""
        super().__init__(f"no tool has the id {tool_id[:200]!r}: {cure}ids are those that search_tools gives")


class NotListedYet(ToolProblem):
    """An id of a server whose tools are not there yet."""

    def __init__(self, tool_id: str) -> None:
        server = tool_id.partition("/")[0]
        super().__init__(f"the server {server[:100]!r} has not listed its tools yet: try again in a moment")


class CallRefused(ToolProblem):
    """A tool that may be seen and not be called."""

    def __init__(self, tool_id: str, reason: str) -> None:
        super().__init__(f"{tool_id[:200]!r} cannot be called here: {reason}")


class UpstreamFailed(ToolProblem):
    """The server behind a tool did not answer as it should. Whether the call had an effect is not known."""

    def __init__(self, upstream: str, reason: str) -> None:
        super().__init__(f"the server {upstream!r} failed: {reason[:500]}")
        self.reason = reason
