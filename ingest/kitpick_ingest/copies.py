"""Copies a catalog with its vectors into another file or engine. Nothing is embedded."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import msgspec

from kitpick_engines.contract import Engine, IndexedDocument, IndexSchema
from kitpick_engines.errors import InvalidDocument, SchemaMismatch
from kitpick_ingest.dead_letters import write_accepted
from kitpick_ingest.errors import EmptySource
from kitpick_ingest.locks import catalog_lock
from kitpick_ingest.progress import Progress
from kitpick_ingest.spool import Spool

_BATCH = 256


class CopyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a copy. Numbers are documents."""

    index: str
    written: int
    unchanged: int
    deleted: int
    refused: tuple[str, ...]
    """Documents that were left out, each with the reason: the target's engine refused them, or the source has
    lost their vectors."""


def copy_catalog(source: Engine, target: Engine, progress: Progress, locks: Path | None = None) -> CopyReport:
    """Makes the target's live index equal to the source's, and writes only the differences.

    Readers of the target see all of it at once, at the end. A copy that was killed has changed nothing.

    Args:
        source: where documents and vectors are read.
        target: where they are written.
        progress: receives the only phase.
        locks: folder of the lock files, as for `sync`.

    Raises:
        EmptySource: the source has no live index.
        SchemaMismatch: the target holds documents of another model or template.
        EngineError: one of the engines failed; the target is as it was.
    """
    live = source.live()
    if live is None:
        raise EmptySource(source.url)
    with catalog_lock(locks, target.url, progress), Spool() as spool:
        index = _target_index(source.url, live[1], target)
        spool.hold(target.hashes(index))
        stats = source.stats()
        copied = unchanged = 0
        refused: list[str] = []
        with (
            progress.phase("copy", stats.documents if stats else None) as advance,
            target.writing(index) as writer,
        ):
            documents = source.documents(live[0])
            while batch := list(itertools.islice(documents, _BATCH)):
                different = _different(batch, spool)
                bad = _lost(different, source.url)
                bad += write_accepted(writer, [each for each in different if each.vector.any()])
                refused += [str(error) for error in bad]
                copied += len(different) - len(bad)
                unchanged += len(batch) - len(different)
                advance(len(batch))
            deleted = spool.count_gone()
            writer.delete(spool.gone())
    return CopyReport(
        index=index, written=copied, unchanged=unchanged, deleted=deleted, refused=tuple(refused)
    )


def _different(batch: Sequence[IndexedDocument], spool: Spool) -> list[IndexedDocument]:
    """Finds the documents that the target lacks or holds in another form; the spool keeps all of them."""
    held = spool.confirm([(each.document.id, each.document.content_hash) for each in batch])
    different = [each for each, same in zip(batch, held, strict=True) if not same]
    for each in different:
        spool.keep(each.document.id)
    return different


def _lost(batch: Sequence[IndexedDocument], url: str) -> list[InvalidDocument]:
    """Documents without a vector. Their versions in the target stay."""
    reason = f"its vector is damaged in {url}: sync its source there, then copy again"
    return [InvalidDocument(each.document.id, reason) for each in batch if not each.vector.any()]


def _target_index(source: str, wanted: IndexSchema, target: Engine) -> str:
    """The live index of the target, created if there is none."""
    live = target.live()
    if live is not None and live[1] != wanted:
        raise SchemaMismatch(
            f"{target.url} holds vectors of {live[1].model}, {source} those of {wanted.model}: "
            "copy into a catalog of another name"
        )
    return target.ensure(wanted)
