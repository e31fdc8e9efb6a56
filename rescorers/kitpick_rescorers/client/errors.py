"""Errors between a client and a service."""

from __future__ import annotations

from kitpick_rescorers.errors import RescorerError


class ClientError(RescorerError):
    """Base of the errors of a client."""


class Unreachable(ClientError):
    """There was no usable answer in time."""


class CircuitOpen(Unreachable):
    """The service failed several times in a row. No request is sent to it for a while."""


class Refused(ClientError):
    """The service refused the request. `code` is that of `docs/protocol.md`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(f"the rescorer refused: {status} {code}: {message}")
        self.status = status
        self.code = code

    @property
    def is_temporary(self) -> bool:
        """Whether the request may succeed later: the service is overloaded or has a defect."""
        return self.status == 429 or self.status >= 500
