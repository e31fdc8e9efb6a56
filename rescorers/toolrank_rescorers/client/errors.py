"""What can go wrong between a client and a service."""

from __future__ import annotations

from toolrank_rescorers.errors import RescorerError


class MissingClient(RescorerError):
    """The HTTP package is not installed."""

    def __init__(self) -> None:
        super().__init__("httpx2 is not installed: pip install 'toolrank[client]'")


class ClientError(RescorerError):
    """Base of what a client raises about a service."""


class Unreachable(ClientError):
    """No answer that could be used, in the time there was."""


class CircuitOpen(Unreachable):
    """The service failed several times in a row: it is left alone for a while."""


class Refused(ClientError):
    """The service answered that it will not. `code` is that of `docs/protocol.md`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"the rescorer refused: {status} {code}: {message}")
        self.status = status
        self.code = code
