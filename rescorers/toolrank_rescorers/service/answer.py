"""A good answer on its way out: its bytes count as held until the caller has taken them."""

from __future__ import annotations

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolrank_rescorers.service.gate import Gate

_PIECE = 64 * 1024


class Answer(Response):
    """JSON, with the id of the request.

    Sent in pieces, each waiting for the caller to take the one before: callers that read slowly fill no
    buffers beyond what the gate knows of, and those that stop reading are cut off by the connection.
    """

    media_type = "application/json"

    def __init__(self, content: bytes, request_id: str, gate: Gate) -> None:
        super().__init__(content, headers={"x-request-id": request_id})
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends it."""
        if len(self.body) <= _PIECE:
            await super().__call__(scope, receive, send)
            return
        with self._gate.hold() as held:
            held.keep(len(self.body))
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            for start in range(0, len(self.body), _PIECE):
                piece = bytes(self.body[start : start + _PIECE])
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
