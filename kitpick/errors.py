"""Maps failures to messages and exit codes, for the command line."""

from __future__ import annotations

import enum

from kitpick_foundation.errors import FailureKind, KitpickError


class NotAServer(KitpickError):
    """A command for search servers was given a catalog of another kind."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: nothing to set up: only catalogs in OpenSearch and Elasticsearch need it")


class InvalidAddress(KitpickError):
    """An address of a service that cannot be understood."""


class NotAgreed(KitpickError):
    """A change that nobody agreed to."""

    failure = FailureKind.REFUSED


class ExitCode(enum.IntEnum):
    """Exit codes of commands."""

    OK = 0
    UNEXPECTED = 1
    """A defect of this software: the traceback is shown."""
    USAGE = 2
    """Unknown option or missing argument, or a setting that is not valid."""
    INPUT = 3
    """A source, catalog, profile, dataset or request that cannot be used as it is."""
    UNAVAILABLE = 4
    """An engine, model or optional package that is missing or broken."""
    REFUSED = 5
    """Stopped to protect what is stored: a source shrank suspiciously, or another sync is running, or a
    trained model is no better than the one it would replace."""
    DEAD_LETTERS = 6
    """Done, but some entries were left out; the report says how many and why."""
    GATE = 7
    """An evaluation is below what `--min` and `--max-drop` ask for; the report was written."""
    UNAPPROVED = 8
    """Done, but some definitions are not as the lock file approves them; the report names them."""


_CODES = {
    FailureKind.INPUT: ExitCode.INPUT,
    FailureKind.SETTING: ExitCode.USAGE,
    FailureKind.UNAVAILABLE: ExitCode.UNAVAILABLE,
    FailureKind.REFUSED: ExitCode.REFUSED,
}


def exit_code(error: BaseException) -> ExitCode:
    """The exit code of a failure."""
    return _CODES[error.failure] if isinstance(error, KitpickError) else ExitCode.UNEXPECTED
