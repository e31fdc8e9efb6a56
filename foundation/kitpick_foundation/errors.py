"""The root of all errors of this software, and the kinds of failure."""

from __future__ import annotations

import enum


class FailureKind(enum.Enum):
    """Kinds of failure. The command line maps them to exit codes, the service to HTTP status."""

    INPUT = "input"
    """A source, catalog, profile, dataset or request that cannot be used as it is."""
    SETTING = "setting"
    """A setting that is not valid."""
    UNAVAILABLE = "unavailable"
    """An engine, model or optional package that is missing or broken."""
    REFUSED = "refused"
    """Stopped to protect what is stored."""


class KitpickError(Exception):
    """Base of every error that this software raises on purpose. Its text says what, where and the cure."""

    failure = FailureKind.INPUT


class InvalidSetting(KitpickError):
    """A setting that is not known, or a value that it does not take; says where it comes from."""

    failure = FailureKind.SETTING


class MissingExtra(KitpickError, ImportError):
    """An optional dependency is not installed, or too old; the text holds the install line.

    Args:
        extra: its name, as in `pip install 'kitpick[EXTRA]'`.
        purpose: what needs it, as the subject of a sentence.
        reason: what exactly is missing, where the import said more than that.
    """

    failure = FailureKind.UNAVAILABLE

    def __init__(self, extra: str, purpose: str, reason: str = "") -> None:
        cure = f"pip install {'--upgrade ' if reason else ''}'kitpick[{extra}]'"
        super().__init__(f"{purpose} needs the extra {extra!r}: {cure}" + (f" ({reason})" if reason else ""))
        self.extra = extra
