"""Configurations by which clients of the Model Context Protocol start `kitpick mcp`."""

from __future__ import annotations

import enum
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from kitpick_engines.opening import sqlite_path


class McpClient(enum.Enum):
    """Clients whose configuration is known."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    ZED = "zed"


class ClientConfig(msgspec.Struct, frozen=True):
    """What a client reads, and where."""

    client: McpClient
    file: str
    """Where the client looks for it, as its user would say it."""
    content: dict[str, Any]
    """To be merged into what that file holds already."""
    afterwards: str
    """What the client does when tools change, and how it takes a new configuration in."""


_FILES = {
    McpClient.CLAUDE_CODE: ".mcp.json in the project's folder",
    McpClient.CLAUDE_DESKTOP: "claude_desktop_config.json (Settings, Developer, Edit Config)",
    McpClient.CURSOR: ".cursor/mcp.json in the project's folder, or ~/.cursor/mcp.json",
    McpClient.VSCODE: ".vscode/mcp.json in the project's folder",
    McpClient.ZED: "settings.json (command zed: open settings file)",
}
_AFTERWARDS = {
    McpClient.CLAUDE_CODE: "start it again in that folder; /mcp shows the server; it follows list_changed",
    McpClient.CLAUDE_DESKTOP: "quit it from its menu and start it again; tools are listed at each start",
    McpClient.CURSOR: "switch the server on under Settings, MCP; tools are listed when it is switched on",
    McpClient.VSCODE: "press Start above the entry; it follows list_changed",
    McpClient.ZED: "it starts the server as soon as the file is saved; it follows list_changed",
}


def client_config(client: McpClient, arguments: Sequence[str]) -> ClientConfig:
    """The configuration that starts `kitpick mcp` with these arguments, in any folder."""
    command, *before = own_command()
    started: dict[str, Any] = {"command": command, "args": [*before, "mcp", *arguments]}
    if client is McpClient.VSCODE:
        content: dict[str, Any] = {"servers": {"kitpick": {"type": "stdio", **started}}}
    elif client is McpClient.ZED:
        content = {"context_servers": {"kitpick": {"source": "custom", **started, "env": {}}}}
    else:
        content = {"mcpServers": {"kitpick": started}}
    return ClientConfig(client, _FILES[client], content, _AFTERWARDS[client])


def own_command() -> tuple[str, ...]:
    """How this kitpick is started by its absolute path."""
    beside = Path(sys.executable).with_name("kitpick")
    found = str(beside) if beside.is_file() else shutil.which("kitpick")
    return (found,) if found else (sys.executable, "-c", "from kitpick.cli import main; main()")


def absolute_catalog(url: str, folder: Path = Path()) -> str:
    """A catalog's URL that means the same in every folder; a relative path counts from this one."""
    path = sqlite_path(url)
    return url if path is None else f"sqlite:{(folder / path).absolute()}"
