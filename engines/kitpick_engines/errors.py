"""Errors of engines. Their text says what is wrong, where, and the cure."""

from __future__ import annotations

from collections.abc import Iterable

from kitpick_foundation.errors import FailureKind, KitpickError


class EngineError(KitpickError):
    """Base of the errors of this package."""


class InvalidDocument(EngineError):
    """A document that no engine can hold. It becomes a dead letter; the run goes on."""

    def __init__(self, document_id: str, reason: str) -> None:
        super().__init__(f"document {document_id[:200]!r}: {reason}")
        self.document_id = document_id
        self.reason = reason


class RefusedDocuments(EngineError):
    """Documents that a server refused for its own reasons. They become dead letters."""

    def __init__(self, refused: Iterable[InvalidDocument]) -> None:
        self.refused = tuple(refused)
        first = str(self.refused[0]) if self.refused else "none"
        super().__init__(f"{len(self.refused)} documents were refused, the first: {first}")


class InvalidVector(EngineError):
    """A vector of the wrong length, or with a value that is not finite."""


class UnknownEngine(EngineError):
    """A catalog URL whose scheme no engine serves."""


class UnknownIndex(EngineError):
    """An index that the engine does not hold: never created, or dropped by a swap."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no index {name[:200]!r}: call ensure() for the name to write to")


class EngineUnavailable(EngineError):
    """The store cannot be opened, reached or written."""

    failure = FailureKind.UNAVAILABLE


class CorruptStore(EngineUnavailable):
    """The store was reached, but what it holds is damaged or is not a catalog."""


class OtherFormat(EngineUnavailable):
    """The store was written by another version of this software."""


class ForeignState(EngineError):
    """The state of a catalog, or an index that it names, is another's: restored from a snapshot."""

    failure = FailureKind.REFUSED

    def __init__(self, name: str, fault: str) -> None:
        super().__init__(
            f"catalog {name}: {fault}, as after a restore from a snapshot. Nothing was read or changed. "
            f"`kitpick adopt` makes what was restored a catalog of its own, and says first what it will do"
        )


class NotAdoptable(EngineError):
    """A restored catalog that cannot be adopted as it is."""

    failure = FailureKind.REFUSED


class NameTaken(EngineError):
    """A name that somebody else uses on the server already."""

    failure = FailureKind.REFUSED


class SchemaMismatch(EngineError):
    """The index was built with another model or text template than the one in use."""
