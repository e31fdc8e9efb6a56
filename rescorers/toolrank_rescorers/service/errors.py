"""What the service refuses, and the one place where a failure becomes an HTTP status."""

from __future__ import annotations

import msgspec

from toolrank_models.errors import ModelError, UnknownToken
from toolrank_rescorers.errors import RescorerError


class ServiceError(Exception):
    """Base of what the service itself raises."""

    retry_after: int | None = None
    """Seconds after which trying again makes sense."""


class MissingServe(ServiceError):
    """The packages of the service are not installed."""

    def __init__(self) -> None:
        super().__init__("starlette and uvicorn are not installed: pip install 'toolrank[serve]'")


class InvalidSetting(ServiceError):
    """A setting that the service cannot start with."""


class MissingTraces(InvalidSetting):
    """The packages that send traces are not installed."""

    def __init__(self) -> None:
        super().__init__("traces: opentelemetry is not installed: pip install 'toolrank[traces]'")


class InvalidKeyFile(InvalidSetting):
    """A key file that does not say what it must."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(f"{file}: {reason}; an entry is `[[keys]]` with `name` and `sha256`")


class Malformed(ServiceError):
    """The body is not what it claims to be: no JSON, no UTF-8, broken compression."""


class Invalid(ServiceError):
    """Well-formed, but not a request of this endpoint."""


class Empty(ServiceError):
    """Nothing to work on, where the dialect calls that an error."""


class Unauthorized(ServiceError):
    """No API key, or one that is not known."""

    def __init__(self) -> None:
        super().__init__("a known API key is required: send `Authorization: Bearer KEY`")


class Forbidden(ServiceError):
    """A request that its sender may not make, whoever they are."""


class NotFound(ServiceError):
    """No such path or model."""


class MethodNotAllowed(ServiceError):
    """The path exists, for another method."""

    def __init__(self, allowed: str) -> None:
        super().__init__(f"this path takes {allowed}")
        self.allowed = allowed


class UnsupportedMedia(ServiceError):
    """A content encoding that is not read here."""


class TooLarge(ServiceError):
    """More than one request may hold."""


class TooSlow(ServiceError):
    """The body did not arrive in time."""


class Overloaded(ServiceError):
    """More work is waiting than can be done in time. Nothing was done for this request."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = max(1, min(60, round(retry_after + 0.5)))


class DeadlinePassed(ServiceError):
    """Nobody waits for the answer any more."""


class Cancelled(ServiceError):
    """The caller went away."""


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
    """Status, code and message of a failure. What nobody foresaw says nothing of itself to the outside."""
    for kind, status, code in _STATUS:
        if isinstance(error, kind):
            retry_after = error.retry_after if isinstance(error, ServiceError) else None
            return Failure(status, code, str(error), retry_after)
    return Failure(500, "internal", "a defect of the service; its log has the details under the request id")
