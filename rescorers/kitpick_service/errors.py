"""Errors of the service, and their HTTP status."""

from __future__ import annotations

import msgspec

from kitpick_foundation.errors import InvalidSetting, KitpickError
from kitpick_models.errors import ModelError, UnknownToken
from kitpick_rescorers.errors import RescorerError, ScoredInPart


class ServiceError(KitpickError):
    """Base of the errors of the service."""

    retry_after: int | None = None
    """Seconds after which trying again makes sense."""


class InvalidKeyFile(InvalidSetting):
    """A key file with missing or invalid entries."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}; an entry is `[[keys]]` with `name` and `sha256`")


class InvalidIssuer(InvalidSetting):
    """An issuer of tokens that cannot be used as it is described."""

    def __init__(self, issuer: str, reason: str) -> None:
        super().__init__(f"issuer {issuer!r}: {reason}")


class Malformed(ServiceError):
    """The body is not valid JSON, UTF-8 or gzip."""


class Invalid(ServiceError):
    """The body is JSON, but not a request of this endpoint."""


class Empty(ServiceError):
    """A request without input, in a dialect that calls this an error."""


class Unauthorized(ServiceError):
    """No API key, or an unknown one."""

    def __init__(self) -> None:
        super().__init__("a known API key is required: send `Authorization: Bearer KEY`")


class Forbidden(ServiceError):
    """A request that nobody may send."""


class NotFound(ServiceError):
    """No such path or model."""


class MethodNotAllowed(ServiceError):
    """The path exists, for another method."""

    def __init__(self, allowed: str) -> None:
        super().__init__(f"this path takes {allowed}")
        self.allowed = allowed


class UnsupportedMedia(ServiceError):
    """An unsupported content encoding."""


class TooLarge(ServiceError):
    """The request exceeds a limit of size or number."""


class TooSlow(ServiceError):
    """The body did not arrive in time."""


class Overloaded(ServiceError):
    """Too much work is waiting. Nothing was done for this request."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = max(1, min(60, round(retry_after + 0.5)))


class NotInTime(Overloaded):
    """The request alone takes longer than its deadline allows. Nothing was done for it."""


class DeadlinePassed(ServiceError):
    """The deadline of the request has passed."""


class DoneInPart(DeadlinePassed, ScoredInPart):
    """The deadline has passed while a model worked for the request; some of it was done."""


class Cancelled(ServiceError):
    """The caller has disconnected."""


class Unready(ServiceError):
    """Starting, draining, or a model does not answer."""

    retry_after = 1


class Failure(msgspec.Struct, frozen=True):
    """What a dialect needs to word its error. `code` is the native one."""

    status: int
    code: str
    message: str
    retry_after: int | None = None


_STATUS: tuple[tuple[type[BaseException], int, str], ...] = (
    (Malformed, 400, "malformed"),
    (Empty, 400, "empty"),
    (Unauthorized, 401, "unauthorized"),
    (Forbidden, 403, "forbidden"),
    (NotFound, 404, "not_found"),
    (MethodNotAllowed, 405, "method_not_allowed"),
    (TooSlow, 408, "too_slow"),
    (TooLarge, 413, "too_large"),
    (UnsupportedMedia, 415, "unsupported_media"),
    (Invalid, 422, "invalid"),
    (RescorerError, 422, "invalid"),
    (UnknownToken, 422, "invalid"),
    (Overloaded, 429, "overloaded"),
    (Cancelled, 499, "cancelled"),
    (Unready, 503, "unavailable"),
    (ModelError, 503, "model_failed"),
    (DeadlinePassed, 504, "deadline"),
)
"""The first match counts; 499 is what nginx logs for a caller that left."""


def failure_of(error: BaseException) -> Failure:
    """Status, code and message of a failure. An unforeseen error does not reveal its text."""
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            retry_after = error.retry_after if isinstance(error, ServiceError) else None
            return Failure(status, code, str(error), retry_after)
    return Failure(500, "internal", "a defect of the service; its log has the details under the request id")
