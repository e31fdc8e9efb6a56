"""Errors of reading a source or syncing it. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from pathlib import Path

from kitpick_foundation.errors import FailureKind, KitpickError


class IngestError(KitpickError):
    """Base of the errors of this package."""


class SourceError(IngestError):
    """A source that cannot be read. Nothing is deleted."""

    def __init__(self, where: str, what: str, cure: str = "") -> None:
        super().__init__(f"{where}: {what}" + (f" ({cure})" if cure else ""))
        self.where = where
        self.what = what
        self.cure = cure


class UnknownSource(SourceError):
    """A specification of a source that no reader understands."""


class SuspiciousShrink(IngestError):
    """A source that suddenly yields nothing, or less than half of what it held. Stopped before deleting."""

    failure = FailureKind.REFUSED


class WouldBePublic(IngestError):
    """Restricted documents would become public. Stopped before writing."""

    failure = FailureKind.REFUSED


class SourceBusy(IngestError):
    """Another process is syncing the same source into the same catalog."""

    failure = FailureKind.REFUSED


class InvalidLockFile(IngestError):
    """A lock file that is not there, or not whole. Nothing was compared, and nothing written."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path}: cannot be used as a lock file: {reason[:300]} (restore it, or remove it and "
            f"approve the definitions anew: kitpick lock {path})"
        )


class CatalogChanged(IngestError):
    """Another process moved the catalog to another model during this sync. Nothing was written."""


class EmptySource(IngestError):
    """A catalog to copy that is empty."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: nothing to copy: the catalog is empty, or is not there")


class InvalidEmbedding(IngestError):
    """An embedder returned vectors that are not finite, not of unit length, or of other dimensions."""


class LocalWriteFailed(IngestError):
    """A file that a sync needs beside the catalog cannot be written, mostly because the disk is full."""
