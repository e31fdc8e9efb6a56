"""Messages of the protocol, written by hand: what the SDK's client cannot say, and what it would not show."""

from __future__ import annotations

import json
from typing import Any


class RawClient:
    """A session of a gateway's HTTP application, of a client that sends this token."""

    def __init__(self, http: Any, token: str) -> None:
        self._http = http
        self._token = token
        about = {"name": "t", "version": "1"}
        opened = self.say("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=about)
        assert opened.status_code == 200, opened.text
        self._session = opened.headers["mcp-session-id"]

    _session = ""

    def say(self, method: str, **params: Any) -> Any:
        """The HTTP answer to a request."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self._http.post("/mcp", json=body, headers=self.headers())

    def headers(self) -> dict[str, str]:
        """Those of each of its requests."""
        headers = {"accept": "application/json, text/event-stream"}
        headers |= {"authorization": f"Bearer {self._token}"} if self._token else {}
        return headers | ({"mcp-session-id": self._session} if self._session else {})

    def close(self) -> None:
        """Ends the session."""
        assert self._http.delete("/mcp", headers=self.headers()).status_code == 200

    def answer(self, method: str, **params: Any) -> dict[str, Any]:
        """The message that answers a request."""
        lines = self.say(method, **params).text.splitlines()
        data = next(line for line in lines if line.startswith("data: {"))
        return dict(json.loads(data.removeprefix("data: ")))

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        return dict(self.answer("tools/call", name=name, arguments=arguments)["result"])
