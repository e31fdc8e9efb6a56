"""The page about clients: its entries are those that kitpick prints, and it says the same of each client."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kitpick.mcp.clients import McpClient, client_config

DOCS = Path(__file__).resolve().parents[3] / "docs"
SECTIONS = dict(
    re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", (DOCS / "clients.md").read_text("utf-8"), re.M | re.S)
)
TITLES = {
    McpClient.CLAUDE_CODE: "Claude Code",
    McpClient.CLAUDE_DESKTOP: "Claude Desktop",
    McpClient.CURSOR: "Cursor",
    McpClient.VSCODE: "VS Code",
    McpClient.ZED: "Zed",
}
TOLD = ("file", "takes it in", "shows it", "own search", "`list_changed`", "commonly")


@pytest.mark.parametrize("client", list(McpClient))
def test_the_entry_on_the_page_is_the_one_that_is_printed(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kitpick.mcp.clients.own_command", lambda: ("/srv/kitpick/bin/kitpick",))
    printed = client_config(client, ["--catalog", "sqlite:/srv/tools.db"])
    section = SECTIONS[TITLES[client]]
    assert (
        section.partition("```json\n")[2].partition("```")[0] == json.dumps(printed.content, indent=2) + "\n"
    )
    file = re.split(r"[ ,]", printed.file)[0]
    assert f"`{file}`" in section, "where the entry goes is said as the command says it"
    follows = "it follows list_changed" in printed.afterwards
    assert follows is ("| `list_changed` | is followed" in section or "is [followed]" in section)


def test_the_page_says_the_same_of_every_client() -> None:
    assert list(SECTIONS) == list(TITLES.values())
    for title, section in SECTIONS.items():
        rows = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.M)
        assert tuple(name for name, _ in rows if name != "|") == TOLD, title
