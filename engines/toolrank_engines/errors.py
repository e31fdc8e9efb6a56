"""What can go wrong in an engine: what, where and the cure."""

from __future__ import annotations

from collections.abc import Iterable


class EngineError(Exception):
    """Base of everything this part raises."""


class InvalidDocument(EngineError):
    """A document no engine can hold. It belongs in the dead-letter file; the run goes on."""

    def __init__(self, document_id: str, reason: str) -> None:
        super().__init__(f"document {document_id[:200]!r}: {reason}")
        self.document_id = document_id
        self.reason = reason


class RefusedDocuments(EngineError):
    """Documents that a server refused for reasons of its own. They belong in the dead-letter file."""

    def __init__(self, refused: Iterable[InvalidDocument]) -> None:
        self.refused = tuple(refused)
        first = str(self.refused[0]) if self.refused else "none"
        super().__init__(f"{len(self.refused)} documents were refused, the first: {first}")


class InvalidQuery(EngineError):
    """A search request that cannot be answered as asked."""


class InvalidVector(EngineError):
    """A vector of the wrong length, or with a value that is not finite."""


class UnknownEngine(EngineError):
    """A catalog URL whose scheme no engine serves."""


class UnknownIndex(EngineError):
    """An index name that the engine does not hold: never begun, or dropped by a swap."""


class EngineUnavailable(EngineError):
    """The store cannot be opened, reached or written."""


class CorruptStore(EngineUnavailable):
    """The store was reached, but what it holds is damaged or is not a catalog."""


class NewerFormat(EngineUnavailable):
    """The store was written by a later version of this software."""


class SchemaMismatch(EngineError):
    """The index was built with another model or text template than the one in use."""


class MissingExtra(EngineError):
    """An optional dependency is not installed; the message holds the install line."""

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the extra {extra!r}: pip install 'toolrank[{extra}]'")
        self.extra = extra
