"""Writes what an engine accepts, and says what it refused: one bad document must not stop a run."""

from __future__ import annotations

from collections.abc import Sequence

from toolrank_engines.contract import IndexedDocument, Writer
from toolrank_engines.errors import InvalidDocument, RefusedDocuments


def write_accepted(writer: Writer, batch: Sequence[IndexedDocument]) -> list[InvalidDocument]:
    """Writes a batch without the documents that the engine refuses, and returns why it refused them."""
    refused: list[InvalidDocument] = []
    pending = list(batch)
    while pending:
        now = _attempt(writer, pending)
        if not now:
            break
        refused += now
        bad = {each.document_id for each in now}
        pending = [item for item in pending if item.document.id not in bad]
    return refused


def _attempt(writer: Writer, batch: Sequence[IndexedDocument]) -> Sequence[InvalidDocument]:
    try:
        writer.write(batch)
    except RefusedDocuments as error:
        return error.refused
    except InvalidDocument as error:
        return [error]
    return []
