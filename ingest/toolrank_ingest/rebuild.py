"""Moves a catalog to another model or text template: builds an index beside the live one, then swaps.

Searches read the old index until the swap. A rebuild that was killed goes on where it stopped: documents
that the new index holds already, with the same content, are not embedded again.
"""

from __future__ import annotations

from toolrank_engines.contract import Engine, IndexedDocument, IndexSchema
from toolrank_ingest.progress import Progress
from toolrank_ingest.spool import Spool
from toolrank_ingest.vectors import DocumentVectors


def rebuild(
    engine: Engine, schema: IndexSchema, vectors: DocumentVectors, batch_size: int, progress: Progress
) -> int:
    """Rebuilds every document of every source for `schema`, and returns how many had to be written.

    Nobody else may write to the catalog meanwhile. The engine must have a live index. Each batch is a session
    of its own: what a killed rebuild embeds again at most, where there is no cache.
    """
    live = engine.live()
    assert live is not None, "there is nothing to rebuild before the first sync"
    old, new = live[0], engine.ensure(schema)
    with Spool() as spool:
        written = _compare(engine, old, new, spool)
        with progress.phase("rebuild", written) as advance:
            for batch in spool.pending(batch_size):
                documents = [document for _, document in batch]
                pairs = zip(documents, vectors.of(documents), strict=True)
                with engine.writing(new) as writer:
                    writer.write([IndexedDocument(document, vector) for document, vector in pairs])
                advance(len(batch))
        if spool.count_gone():
            with engine.writing(new) as writer:
                writer.delete(spool.gone())
    engine.swap(new)
    return written


def _compare(engine: Engine, old: str, new: str, spool: Spool) -> int:
    """Spools the documents of the old index that the new one lacks or holds in another version."""
    written = 0
    spool.hold(engine.hashes(new))
    for stored in engine.documents(old):
        (unchanged,) = spool.confirm([(stored.document.id, stored.document.content_hash)])
        if not unchanged:
            spool.write(stored.document)
            written += 1
    return written
