"""A dialect: the paths of one family of clients, and how its errors and numbers look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from kitpick_service.errors import Failure
from kitpick_service.ticket import Ticket

if TYPE_CHECKING:
    from kitpick_service.core import Service


PlainNumber = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema={"type": "number"})]


def plain_number(value: float) -> msgspec.Raw:
    """The value as every known client can parse it: with a point and six decimals, without an exponent.

    ml-commons casts a score to `Double`, which fails for `1` and for more than 18 characters.
    """
    return msgspec.Raw(f"{value + 0.0:.6f}".replace("-0.000000", "0.000000").encode())


class Dialect(msgspec.Struct, frozen=True):
    """The error format of one family of clients."""

    name: str
    """In metrics and in the description."""
    error_type: type[msgspec.Struct]
    error: Callable[[Failure, str], msgspec.Struct]
    """Body of a failure, with the id of the request; of type `error_type`."""
    statuses: Mapping[str, int] = {}
    """HTTP statuses by the code of a failure, where they are not its own."""

    def status(self, failure: Failure) -> int:
        """HTTP status of a failure."""
        return self.statuses.get(failure.code, failure.status)


class Endpoint(msgspec.Struct, frozen=True):
    """One path: what it takes, what it gives, and who words its errors."""

    path: str
    summary: str
    dialect: Dialect
    request: Any
    """Type of the body; None for one without (GET), whose `answer` gets what stands in the path."""
    reply: Any
    """Type of a good answer."""
    answer: Callable[[Service, Any, Ticket], Any]
    """Runs in a thread of its own: it may block on a queue."""
    turns_away: Callable[[Service, bytes, Ticket], None] | None = None
    """Refuses a body before it is decoded, if it surely will be later. Runs in the event loop: is quick."""
    keyed: bool = True
    """Whether an API key is asked for, where there are any."""

    @property
    def method(self) -> str:
        """GET or POST."""
        return "GET" if self.request is None else "POST"
