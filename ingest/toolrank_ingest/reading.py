"""Reads a source and holds it to its promises, so that what follows can rely on them."""

from __future__ import annotations

from collections.abc import Iterator

from toolrank_engines.document import ApiDocument, escape_part
from toolrank_ingest.errors import IngestError, SourceError
from toolrank_ingest.source import DeadLetter, Source
from toolrank_ingest.watchdog import impatient

Item = ApiDocument | DeadLetter


def read_source(source: Source, timeout: float | None = None) -> Iterator[Item]:
    """Documents and dead letters of a source, each document owned by it.

    Args:
        source: what to read.
        timeout: seconds that it may take to yield the next item; None waits for ever.

    Raises:
        SourceError: the source failed, whatever it raised; hangs; or yields what is not its own.
    """
    items = _named_errors(source)
    for item in items if timeout is None else impatient(items, timeout, source.name):
        if isinstance(item, ApiDocument):
            _check_owner(item, source.name)
        elif not isinstance(item, DeadLetter):
            raise SourceError(source.name, f"yielded a {type(item).__name__} instead of a document")
        yield item


def _named_errors(source: Source) -> Iterator[Item]:
    """An error of whatever kind means that the source could not be read to its end."""
    try:
        yield from source.read()
    except IngestError:
        raise
    except Exception as error:
        what = f"stopped with {type(error).__name__}: {error}"
        raise SourceError(source.name, what, "nothing was changed") from error


def _check_owner(document: ApiDocument, owner: str) -> None:
    """Ids begin with the name of their source, so that two sources can never overwrite each other's."""
    if document.source != owner:
        raise SourceError(
            owner, f"yielded document {document.id[:200]!r} of source {document.source[:200]!r}"
        )
    if not document.id.startswith(escape_part(owner) + "/"):
        what = f"yielded document {document.id[:200]!r}, whose id does not begin with the name of its source"
        raise SourceError(owner, what, "build ids with document_id()")
