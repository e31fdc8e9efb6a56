"""Configurations of clients, read as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kitpick.mcp.config import McpConfig, UpstreamConfig, live_settings, read_config
from kitpick.mcp.errors import InvalidMcpConfig


def written(tmp_path: Path, content: object, name: str = "clients.json") -> McpConfig:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return read_config(path)


def one(tmp_path: Path, server: dict[str, Any], table: str = "mcpServers") -> UpstreamConfig:
    (upstream,) = written(tmp_path, {table: {"notes": server}}).upstreams
    return upstream


def test_claude_desktop_names_commands_with_their_environment(tmp_path: Path) -> None:
    given = {
        "command": "npx",
        "args": ["-y", "@x/notes", "a b"],
        "env": {"KEY": "s3cret", "PORT": 80, "OFF": None},
    }
    upstream = one(tmp_path, given)
    assert upstream.endpoint.command == ("npx", "-y", "@x/notes", "a b")
    assert upstream.allow == ("*",)
    assert live_settings(upstream).environment == {"KEY": "s3cret", "PORT": "80"}


def test_claude_code_and_cursor_name_urls_headers_and_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES_TOKEN", "t0ken")
    headers = {"Authorization": "Bearer ${NOTES_TOKEN}", "X-Team": "${env:TEAM:-none}"}
    upstream = one(tmp_path, {"type": "http", "url": "https://${HOST:-h.example}/mcp", "headers": headers})
    assert upstream.endpoint.url == "https://h.example/mcp"
    assert live_settings(upstream).headers == {"Authorization": "Bearer t0ken", "X-Team": "none"}


@pytest.mark.parametrize("key", ["serverUrl", "httpUrl"])
def test_windsurf_and_gemini_name_urls_in_their_own_ways(tmp_path: Path, key: str) -> None:
    assert one(tmp_path, {key: "https://h.example/mcp"}).endpoint.url == "https://h.example/mcp"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_files_of_windows_editors_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "clients.json"
    (tmp_path / "my.env").write_text("KEY=a\u00fc\n", encoding)
    content = {"mcpServers": {"notes": {"command": "notes", "envFile": "my.env"}}}
    path.write_text(json.dumps(content), encoding)
    (upstream,) = read_config(path).upstreams
    assert live_settings(upstream).environment == {"KEY": "a\u00fc"}


def test_vs_code_writes_servers_with_comments_a_folder_and_a_file_of_variables(tmp_path: Path) -> None:
    (tmp_path / "my.env").write_text("# comment\nexport KEY='from // file'\n\nOTHER=2\n")
    text = """{
      // servers of this project
      "inputs": [{"type": "promptString", "id": "key"},],
      ////////////////////////////////////////////////////////////
      /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/ /**/
      "servers": { /* all */
        "notes": {"type": "stdio", "command": "notes", "cwd": "/srv", "envFile": "my.env",
                  "env": {"OTHER": "http://x/*not a comment*/"},},
      }
    }"""
    (upstream,) = written(tmp_path, text, "mcp.json").upstreams
    live = live_settings(upstream)
    assert live.environment == {"KEY": "from // file", "OTHER": "http://x/*not a comment*/"}
    assert live.folder == "/srv"


@pytest.mark.parametrize(("cwd", "folder"), [("here", "here"), ("./a/../b", "a/../b"), ("", None)])
def test_the_folder_of_a_server_counts_from_the_file_that_names_it(
    tmp_path: Path, cwd: str, folder: str | None
) -> None:
    file = tmp_path / "mcp.toml"
    file.write_text(f'[[upstreams]]\nname = "n"\ntarget = "stdio:n"\ncwd = "{cwd}"\n')
    (upstream,) = read_config(file).upstreams
    assert live_settings(upstream).folder == ("" if folder is None else str(tmp_path / folder))


@pytest.mark.parametrize(
    "server", [{"command": "n", "args": ["x"]}, {"command": {"path": "n", "args": ["x"]}}]
)
def test_zed_names_context_servers_in_either_form(tmp_path: Path, server: dict[str, Any]) -> None:
    assert one(tmp_path, server, "context_servers").endpoint.command == ("n", "x")


def test_servers_of_settings_of_vs_code_stand_one_level_deeper(tmp_path: Path) -> None:
    found = written(tmp_path, {"editor.fontSize": 3, "mcp": {"servers": {"notes": {"command": "n"}}}})
    assert [each.name for each in found.upstreams] == ["notes"]


def test_what_is_switched_off_and_this_server_itself_are_passed_over(tmp_path: Path) -> None:
    servers = {
        "off": {"command": "n", "disabled": True},
        "also off": {"command": "n", "enabled": False},
        "kitpick": {"command": "/usr/bin/kitpick", "args": ["mcp", "-c", "x.db"]},
        "by uv": {"command": "uvx", "args": ["--from", "kitpick[mcp]", "kitpick", "mcp"]},
        "my notes!": {"command": "n"},
    }
    assert [each.name for each in written(tmp_path, {"mcpServers": servers}).upstreams] == ["my-notes-"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"mcpServers": {"x": {"command": "n", "env": {"K": "${UNSET_ONE}"}}}}, "'UNSET_ONE' is not set"),
        ({"servers": {"x": {"command": "n", "env": {"K": "${input:key}"}}}}, "known to the client alone"),
        ({"mcpServers": {"x": {"args": ["n"]}}}, "either `command` or `url`"),
        ({"mcpServers": {"x": {"command": "n", "url": "https://x/"}}}, "either `command` or `url`"),
        ({"mcpServers": {"x": {"command": ["n"]}}}, "server 'x'"),
        ({"mcpServers": {"x": {"url": "ftp://x"}}}, "neither a URL nor a command"),
        ({"mcpServers": []}, "no servers"),
        ({}, "no servers"),
        ("[]", "clients.json"),
        ("{", "clients.json"),
        ({"mcpServers": {"a b": {"command": "n"}, "a-b": {"command": "n"}}}, "two upstreams 'a-b'"),
        ({"servers": {"x": {"command": "n", "envFile": "gone.env"}}}, "envFile cannot be read"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(tmp_path: Path, content: object, reason: str) -> None:
    with pytest.raises(InvalidMcpConfig, match=reason):
        written(tmp_path, content)


def test_paths_count_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    for given, meant in (
        ("sqlite:tools.db", f"sqlite:{tmp_path}/tools.db"),
        ("tools.db", f"sqlite:{tmp_path}/tools.db"),
        ("sqlite:///srv/my%20tools.db", "sqlite:/srv/my tools.db"),
        ("SQLite:tools.db", f"sqlite:{tmp_path}/tools.db"),
        ("sqlite:/srv/tools.db", "sqlite:/srv/tools.db"),
        ("opensearch://host/tools", "opensearch://host/tools"),
    ):
        path.write_text(f'catalog = "{given}"\n')
        assert read_config(path).catalog == meant


def test_a_configuration_of_ours_gives_variables_by_name_and_by_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FROM_HERE", "1")
    path = tmp_path / "mcp.toml"
    path.write_text(
        '[[upstreams]]\nname = "x"\ntarget = "stdio:n"\nenvironment = ["FROM_HERE"]\nenv = { GIVEN = "2" }\n'
    )
    (upstream,) = read_config(path).upstreams
    assert live_settings(upstream).environment == {"FROM_HERE": "1", "GIVEN": "2"}
    assert os.environ.get("GIVEN") is None


def test_a_file_of_two_clients_gives_the_servers_of_both(tmp_path: Path) -> None:
    notes, mail = {"command": "notes"}, {"command": "mail"}
    both = {"mcpServers": {"notes": notes}, "servers": {"mail": mail, "notes": notes}}
    found = written(tmp_path, {**both, "mcp": {"servers": {"third": {"url": "https://h.example/mcp"}}}})
    assert [each.name for each in found.upstreams] == ["notes", "mail", "third"]
    with pytest.raises(InvalidMcpConfig, match="two upstreams 'notes'"):
        written(tmp_path, {"mcpServers": {"notes": notes}, "servers": {"notes": mail}})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "mcpServers.a"),
        ('{"mcpServers": {"a": {"command": "x"}}, "mcpServers": {}}', "mcpServers"),
        ('{"mcp": {"servers": {"a": {"command": "x", "command": "y",},},},}', "mcp.servers.a.command"),
    ],
)
def test_a_server_that_stands_twice_is_refused(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(InvalidMcpConfig, match=f"the key {key} stands more than once"):
        written(tmp_path, text)
