"""Keeps what a server shows beside its answers: its last lines, and how HTTP refused a request."""

from __future__ import annotations

from collections import deque

from kitpick_foundation.visible import one_line
from kitpick_ingest.repeated_keys import repeated_keys

_KEPT_LINES = 20
_LINE_BYTES = 2_000
_SHOWN_LINES = 3
_SHOWN_CHARACTERS = 300

_CURES = {
    400: "it does not take the request: see whether the URL is that of an MCP endpoint",
    401: "it wants credentials: give them with --header Authorization=VARIABLE, or `headers` of the upstream",
    402: "it wants to be paid first",
    403: "the credentials do not allow it: take others, with --header, or `headers` of the upstream",
    404: "there is no MCP endpoint at this path: it often is /mcp",
    405: "this path takes no MCP requests: it often is /mcp; servers that only speak SSE are too old",
    406: "it does not answer with JSON or events: see whether the URL is that of an MCP endpoint",
    415: "it does not take JSON: see whether the URL is that of an MCP endpoint",
    429: "it is asked too often: try later",
}


def status_reason(status: int) -> str:
    """What a status of HTTP means here, with the cure."""
    if status >= 500:
        return f"HTTP {status}: the server itself failed: try later, or look into its log"
    if status < 400:
        return f"HTTP {status}: it leads to another address: take that one"
    return f"HTTP {status}: {_CURES.get(status, 'it refuses the request')}"


class ServerOutput:
    """Keeps the last lines of a started server and the last refusal of one behind a URL."""

    def __init__(self) -> None:
        self.status = 0
        """Status of the last answer over HTTP where it was a refusal, else 0."""
        self.exit_code: int | None = None
        """Exit code of a started server that ended by itself."""
        self.unfinished = b""
        """The beginning of a message over several lines that has not ended."""
        self.repeated: dict[str, str] = {}
        """By method of a list: a key that stands more than once in an answer to it."""
        self._lines: deque[bytes] = deque(maxlen=_KEPT_LINES)
        self._begun = b""

    def note_answer(self, method: str, text: bytes) -> None:
        """Takes the text of an answer: of a list, it is told where only one of several values is read."""
        if method.endswith("/list") and (places := repeated_keys(text)):
            key = places[0][-1]
            self.repeated[method] = f"the key {key!r} stands more than once: only its last value is read"

    def write(self, data: bytes) -> None:
        """Takes what came, in pieces of any size. Of a long line the beginning is kept."""
        *whole, begun = (self._begun + data).split(b"\n")
        self._begun = begun[:_LINE_BYTES]
        for line in whole:
            self.line(line)

    def line(self, data: bytes) -> None:
        """Takes one line."""
        if data.strip():
            self._lines.append(data[:_LINE_BYTES])

    def write_lines(self, data: bytes) -> None:
        """Takes whole lines."""
        for line in data.split(b"\n"):
            self.line(line)

    def last_lines(self) -> str:
        """The last lines, without anything that a terminal would obey; empty where nothing was written."""
        lines = [*self._lines, self._begun] if self._begun.strip() else list(self._lines)
        return " | ".join(_shown(line) for line in lines[-_SHOWN_LINES:])

    def added_to(self, reason: str, *, written: bool = True) -> str:
        """A reason with what is known beside it; what the server wrote may be about what anybody asked it."""
        refused = f" ({status_reason(self.status)})" if self.status else ""
        ended = "" if self.exit_code is None else f"; it ended with exit code {self.exit_code}"
        if not written:
            return f"{reason}{refused}{ended}"
        wrote = self.last_lines()
        told = f"; it wrote: {wrote}" if wrote else ""
        if self.unfinished:
            begun = _shown(b" ".join(self.unfinished.split()))
            told += f"; it began a message over several lines, and did not end it: {begun}"
        return f"{reason}{refused}{ended}{told}"


def _shown(line: bytes) -> str:
    return one_line(line.decode("utf-8", "replace").strip())[:_SHOWN_CHARACTERS]
