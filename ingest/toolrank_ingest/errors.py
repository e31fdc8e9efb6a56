"""What can go wrong while reading a source or syncing it: what, where and the cure."""

from __future__ import annotations


class IngestError(Exception):
    """Base of everything this part raises."""


class SourceError(IngestError):
    """A source that cannot be read at all. Nothing is deleted because of it."""

    def __init__(self, where: str, what: str, cure: str = "") -> None:
        super().__init__(f"{where}: {what}" + (f" ({cure})" if cure else ""))
        self.where = where
        self.what = what
        self.cure = cure


class UnknownSource(SourceError):
    """A specification of a source that no reader understands."""


class SuspiciousShrink(IngestError):
    """A source that suddenly yields nothing, or less than half of what it held. Stopped before deleting."""


class SourceBusy(IngestError):
    """Another process is syncing the same source into the same catalog."""


class CatalogChanged(IngestError):
    """Another process moved the catalog to another model during this sync, of which nothing was written."""


class NotSharded(IngestError):
    """An engine that takes one writer at a time was asked to take several."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} takes one writer at a time: sync into it without a shard")


class EmptySource(IngestError):
    """A catalog that is to be copied and holds nothing."""

    def __init__(self, url: str) -> None:
        super().__init__(f"{url}: nothing to copy: the catalog is empty, or is not there")


class InvalidEmbedding(IngestError):
    """An embedder returned something else than finite unit vectors of its own dimensions."""


class LocalWriteFailed(IngestError):
    """A file that a sync needs beside the catalog cannot be written: most often, the disk is full."""


class MissingExtra(IngestError):
    """An optional dependency is not installed; the message holds the install line."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra {extra!r}: pip install 'toolrank[{extra}]'")
        self.extra = extra
