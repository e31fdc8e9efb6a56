"""How a client behaves."""

from __future__ import annotations

from typing import Annotated

import msgspec


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience of a client. All times are seconds."""

    deadline: Annotated[float, msgspec.Meta(gt=0)] = 10.0
    """For an answer, all tries included; the service is told what is left of it."""
    tries: Annotated[int, msgspec.Meta(ge=1)] = 3
    backoff: Annotated[float, msgspec.Meta(ge=0)] = 0.05
    """Before the second try; doubles with each, and varies by half, so that clients do not march in step."""
    failures: Annotated[int, msgspec.Meta(ge=1)] = 5
    """In a row, after which the circuit opens."""
    rest: Annotated[float, msgspec.Meta(gt=0)] = 5.0
    """How long it stays open; then one request tries."""
    connections: Annotated[int, msgspec.Meta(ge=1)] = 32
