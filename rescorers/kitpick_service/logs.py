"""Structured logs: one JSON object a line. Queries are logged only if the operator asks for it."""

from __future__ import annotations

import datetime
import logging
import sys
import traceback
from typing import TextIO

import msgspec

from kitpick_service.ticket import Ticket

_MOST_CAUSES = 5
_LOG = logging.getLogger("kitpick.service")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """Time, level, message and whatever was given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; line breaks inside of values are escaped, so nothing can forge an entry."""
        when = datetime.datetime.fromtimestamp(record.created, datetime.timezone.utc)
        entry = {"time": when.isoformat(), "level": record.levelname.lower(), "message": record.getMessage()}
        entry |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry, enc_hook=str).decode()


class StandardError(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to what is the standard error when an entry comes, not to what it was at the start."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        """Where entries go."""
        return sys.stderr


def configure(level: str) -> None:
    """Logs of the service and of its HTTP server go to standard error."""
    handler = StandardError()
    handler.setFormatter(JsonLines())
    for name in ("kitpick", "uvicorn", "opentelemetry"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level.upper())
    for name in ("uvicorn", "opentelemetry"):
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger("kitpick").level))


def log_answer(path: str, status: int, ticket: Ticket) -> None:
    """One line an answer."""
    if not _LOG.isEnabledFor(logging.INFO):
        return
    entry: dict[str, object] = {
        "request_id": ticket.request_id,
        "path": path,
        "status": status,
        "ms": round(ticket.spent_ms, 1),
        "wait_ms": round(ticket.waited * 1e3, 1),
        "tokens": ticket.tokens,
    }
    if ticket.bearer.name:
        entry["key"] = ticket.bearer.name
    if ticket.query is not None:
        entry["query"] = ticket.query
    _LOG.info("answered", extra=entry)


def log_defect(error: BaseException, ticket: Ticket) -> None:
    """Logs an unforeseen error."""
    _LOG.error("defect", extra={"request_id": ticket.request_id, "traceback": where_raised(error)})


def where_raised(error: BaseException) -> str:
    """The kind of an error, and where it happened; likewise of what caused it.

    Their messages are left out: they may hold what somebody asked or sent.
    """
    frames: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(frames) < _MOST_CAUSES:
        frames.append(f"{type(cause).__name__}\n" + "".join(traceback.format_tb(cause.__traceback__)))
        cause = cause.__cause__ or cause.__context__
    return "\n".join(frames)
