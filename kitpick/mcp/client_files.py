"""Servers as clients' own configurations name them: Claude Desktop and Code, Cursor, VS Code, Zed and others.

Such a file is read as it is, comments included. Its servers are upstreams whose tools may be called, but for
destructive ones: whoever wrote the file gave them to a client whole.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kitpick.mcp.errors import InvalidMcpConfig
from kitpick_foundation.decoding import UNDECODABLE, convert_to, decode_as
from kitpick_foundation.text_files import read_text
from kitpick_ingest.repeated_keys import repeated_keys

TABLES = ("mcpServers", "servers", "context_servers")
"""Where the servers stand: Claude, Cursor and most others; VS Code; Zed."""
_NAME = re.compile(r"[^\w.-]+")
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)(?::-([^}]*))?\}")
_ANY = re.compile(r"\$\{[^}]*\}")
_COMMENT = r"//[^\n]*(?![^\n])|/\*(?:[^*]|\*(?!/))*\*/"
"""To its very end, so that a line of slashes is read in one way only."""
_TOKEN = re.compile(rf'"(?:[^"\\]|\\.)*"|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[}}\]])', re.DOTALL)


class _Zed(msgspec.Struct):
    path: str
    args: list[str] = []
    env: dict[str, str] = {}


class ClientServer(
    msgspec.Struct, rename={"env_file": "envFile", "server_url": "serverUrl", "http_url": "httpUrl"}
):
    """A server as a client names it. What else stands there, such as approvals, is the client's own."""

    command: str | _Zed = ""
    args: list[str] = []
    env: dict[str, str | int | float | bool | None] = {}
    env_file: str = ""
    cwd: str = ""
    url: str = ""
    server_url: str = ""
    """`url` as Windsurf writes it."""
    http_url: str = ""
    """`url` as Gemini CLI writes it."""
    headers: dict[str, str] = {}
    type: str = ""
    disabled: bool = False
    enabled: bool = True


def is_client_file(path: Path) -> bool:
    """Whether a configuration is one of a client, by its name."""
    return path.suffix.lower() in (".json", ".jsonc")


def read_client_file(path: Path) -> list[dict[str, Any]]:
    """The fields of an upstream for each server that a client's file names.

    Raises:
        InvalidMcpConfig: it cannot be read, names no servers, or one in a way that is not understood.
    """
    try:
        data = _plain(read_text(path))
        found = decode_as(data, dict[str, Any])
    except (OSError, RecursionError, *UNDECODABLE) as error:
        raise InvalidMcpConfig(str(path), str(error)) from error
    if twice := next((place for place in repeated_keys(data) if set(place) & set(TABLES)), None):
        raise InvalidMcpConfig(str(path), f"the key {'.'.join(twice)} stands more than once: keep one")
    servers: list[tuple[str, object]] = []
    for each in _servers(found, path):
        if each not in servers:
            servers.append(each)
    read = [_upstream(name, given, path) for name, given in servers]
    return [fields for fields in read if fields]


def _servers(found: dict[str, Any], path: Path) -> Iterator[tuple[str, object]]:
    """The servers of every table: a file may have some for one client and others for another."""
    nested = found.get("mcp")
    places = [each for each in (found, nested) if isinstance(each, dict)]
    tables = [place[name] for place in places for name in TABLES if name in place]
    if not any(isinstance(table, dict) for table in tables):
        raise InvalidMcpConfig(str(path), f"no servers: none of {', '.join(TABLES)} stands in it")
    for table in tables:
        if isinstance(table, dict):
            yield from table.items()


def _plain(text: str) -> bytes:
    """JSON without comments and commas before a closing bracket, which editors' files have."""
    return _TOKEN.sub(lambda found: found[0] if found[0].startswith('"') else "", text).encode()


def _upstream(name: str, given: object, path: Path) -> dict[str, Any]:
    """The fields of an upstream; none for a server that is switched off, or is this one."""
    try:
        server = convert_to(given, ClientServer)
    except msgspec.ValidationError as error:
        raise InvalidMcpConfig(str(path), f"server {name!r}: {error}") from error
    if server.disabled or not server.enabled:
        return {}
    where = f"{path}: server {name!r}"
    named = server.command
    inner = named if isinstance(named, _Zed) else _Zed(named, server.args, {})
    command, arguments = inner.path, inner.args
    own = {**server.env, **inner.env}
    words = [_filled(word, where) for word in (command, *arguments)]
    if _is_this(words):
        return {}
    url = server.url or server.server_url or server.http_url
    if bool(command) == bool(url):
        raise InvalidMcpConfig(where, "it needs either `command` or `url`")
    values = _env_file(server, path) | {key: _text(value) for key, value in own.items() if value is not None}
    headers = {key: _filled(value, where) for key, value in server.headers.items()}
    return {
        "name": _NAME.sub("-", name)[:100] or "server",
        "target": _filled(url, where) if url else f"stdio:{shlex.join(words)}",
        "allow": ("*",),
        "env": {key: _filled(value, where) for key, value in values.items()},
        "cwd": _filled(server.cwd, where),
        "header_values": headers,
    }


def _env_file(server: ClientServer, path: Path) -> dict[str, str]:
    if not server.env_file:
        return {}
    file = path.parent / _filled(server.env_file, str(path))
    try:
        lines = read_text(file).splitlines()
    except (OSError, UnicodeError) as error:
        raise InvalidMcpConfig(str(file), f"envFile cannot be read: {error}") from error
    pairs = [line.removeprefix("export ").partition("=") for line in map(str.strip, lines) if _is_pair(line)]
    return {name.strip(): value.strip().strip("'\"") for name, _, value in pairs}


def _is_pair(line: str) -> bool:
    return "=" in line and not line.startswith("#")


def _is_this(words: list[str]) -> bool:
    """Whether a command starts this server: a client's file may name it beside the others."""
    names = [Path(word).stem for word in words[:6]]
    return "kitpick" in names and "mcp" in words


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _filled(text: str, where: str, environment: Mapping[str, str] = os.environ) -> str:
    """A text with its variables: `${NAME}`, `${env:NAME}`, `${NAME:-otherwise}`, `${userHome}`."""

    def value(found: re.Match[str]) -> str:
        name, otherwise = found[1], found[2]
        if name in environment:
            return environment[name]
        if name == "userHome":
            return str(Path.home())
        if otherwise is not None:
            return otherwise
        raise InvalidMcpConfig(where, f"variable {name!r} is not set: set it, or write its value")

    for found in _ANY.finditer(text):
        if not _VARIABLE.fullmatch(found[0]):
            raise InvalidMcpConfig(where, f"{found[0]} is known to the client alone: write its value")
    return _VARIABLE.sub(value, text)
