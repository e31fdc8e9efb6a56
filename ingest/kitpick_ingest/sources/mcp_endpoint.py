"""The address of a live MCP server, the limits for using it, and its list of tools."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import msgspec

from kitpick_ingest.errors import UnknownSource
from kitpick_ingest.urls import is_url, shown_url, split_url

_STDIO = "stdio:"


class LiveSettings(msgspec.Struct, frozen=True):
    """Limits of a live source: a server that exceeds one stops it, and nothing is deleted because of it."""

    request_seconds: float = 30.0
    """Seconds for one answer; the first one of a started server includes its start."""
    total_seconds: float = 300.0
    """Seconds for connecting and listing every page."""
    heartbeat_seconds: float = 15.0
    """How long a watched server that speaks an older protocol may be silent before it is pinged."""
    max_tools: int = 20_000
    max_pages: int = 1_000
    max_answer_bytes: int = 8 * 1024 * 1024
    """Most bytes of one answer, such as a page of tools, unpacked. A longer one is not parsed."""
    max_listing_bytes: int = 32 * 1024 * 1024
    """Most bytes of all pages of a list together."""
    max_result_bytes: int = 4 * 1024 * 1024
    """Most bytes of the answer to one call."""
    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """HTTP headers, such as `Authorization`. Never logged."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables for a started server, beside HOME, PATH and the like. Never logged."""
    folder: str = ""
    """Where a server is started; empty for the folder of this process."""


class McpEndpoint(msgspec.Struct, frozen=True):
    """Either the URL of a streamable HTTP endpoint or a command that serves over its standard streams."""

    url: str = ""
    command: tuple[str, ...] = ()

    @classmethod
    def parse(cls, target: str) -> McpEndpoint:
        """`http(s)://…` or `stdio:COMMAND ARGUMENT …`, quoted as in a shell; no shell is involved.

        Raises:
            UnknownSource: neither of them.
        """
        if target.startswith(_STDIO):
            return cls(command=_split(target.removeprefix(_STDIO)))
        if is_url(target):
            split_url(target)
            return cls(url=target)
        cure = "write mcp:https://HOST/PATH or mcp:stdio:COMMAND …"
        raise UnknownSource("mcp", "is neither a URL nor a command", cure)

    def without_user(self) -> McpEndpoint:
        """The same place without user and password in its URL."""
        if not self.url:
            return self
        parts = split_url(self.url)
        return McpEndpoint(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())

    @property
    def where(self) -> str:
        """The address for messages, without possible secrets: user, query and arguments."""
        return shown_url(self.url) if self.url else f"{_STDIO}{self.command[0]}"


class Listing(msgspec.Struct, frozen=True):
    """Name and version of a server, its tools as listed, and what it says of itself."""

    server: str
    version: str
    tools: tuple[bytes, ...]
    """Each as compact JSON, with the fields in the server's order."""
    instructions: str = ""
    """How the server wants to be used; empty where it does not say."""
    failed: tuple[Failed, ...] = ()
    """Parts that could not be read, beside tools, or not wholly."""
    fresh_seconds: float | None = None
    """How long the list holds, as the server says (`ttlMs`); None where it does not say."""


class Failed(msgspec.Struct, frozen=True):
    """A part of a server that could not be read: its resources, templates of resources, or prompts."""

    method: str
    reason: str


def overlaid(headers: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Headers with others in place of those of the same name, in whatever case it is written."""
    replaced = {name.lower() for name in others}
    return {name: value for name, value in headers.items() if name.lower() not in replaced} | dict(others)


def _split(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise UnknownSource("mcp:stdio:", f"the command cannot be split: {error}") from error
    if not words or "\0" in command:
        raise UnknownSource("mcp:stdio:", "no command follows", "write mcp:stdio:COMMAND …")
    return words
