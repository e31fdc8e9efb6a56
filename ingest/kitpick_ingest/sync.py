"""Syncs a source: makes its documents in an engine equal to what the source holds now.

read → embed → write. Reading, comparing and embedding change nothing in the catalog; everything is written
in one session at the end. A sync that is interrupted or killed leaves the catalog as it was before or as it
should be, and the next one finds in the embedding cache what this one had embedded.

Another model or text template: builds an index beside the live one, then swaps.

Searches read the old index until the swap. A rebuild that was killed goes on where it stopped: documents
that the new index holds already, with the same content, are not embedded again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from kitpick_engines.contract import Engine, IndexedDocument, IndexSchema
from kitpick_engines.errors import EngineError
from kitpick_ingest.approvals import ApprovalCheck, Approvals, Unapproved
from kitpick_ingest.cut_texts import CutTextCounts, CutTexts, TextBound
from kitpick_ingest.dead_letters import DeadLetterFile, write_accepted
from kitpick_ingest.embedder import DocumentVectors, Embedder, EmbeddingCache, schema_of
from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import CatalogChanged
from kitpick_ingest.fingerprints import LastSync
from kitpick_ingest.labels import LabelledSource
from kitpick_ingest.locks import catalog_lock, source_lock, state_file
from kitpick_ingest.plan import Planner, SyncPlan, refuse_publication, refuse_shrink
from kitpick_ingest.progress import NullProgress, Progress, ProgressRecorder
from kitpick_ingest.purposes import with_purposes
from kitpick_ingest.source import DeadLetter, Source
from kitpick_ingest.source_reader import read_source
from kitpick_ingest.spool import Spool


def rebuild(
    engine: Engine, schema: IndexSchema, vectors: DocumentVectors, batch_size: int, progress: Progress
) -> tuple[str, int]:
    """Rebuilds all documents for `schema`. Returns the new live index and the number of documents written.

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
    return new, written


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


class SyncOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a sync."""

    allow_shrink: bool = False
    """Delete even if more than half of what the source held is gone."""
    public: bool = False
    """Let documents become visible to everybody that only a tenant or some principals could see so far."""
    dead_letters: Path | None = None
    """File for what was left out, replaced by every run; None keeps only the number."""
    lock: Path | None = None
    """Lock file with the digests of approved definitions: what differs from it is named in the report."""
    hold_back: bool = False
    """Keep what differs from the lock file out of the catalog; approved versions that it holds stay."""
    locks: Path | None = None
    """Folder of the lock files, the same for all who sync the catalog; None: in the user's state folder."""
    wait: float = 0.0
    """Seconds to wait for another sync of the same source."""
    reread: bool = False
    """Read the source even if its files and the index are what they were after the last sync."""
    source_timeout: float | None = 300.0
    """Seconds that the source may take to yield its next item; None waits for ever."""
    batch: Annotated[int, msgspec.Meta(ge=1)] = 256
    """Documents embedded between two writes to the cache: what a killed sync loses at most."""
    bounds: Iterable[TextBound] = ()
    """How much models read of a text: what is longer is counted. `Catalog.ingest` knows them."""
    reword: Callable[[Converted], Converted] | None = None
    """Gives a document the purpose that models read in place of its description. `Catalog.ingest` has one."""


class SyncReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a sync. Numbers are documents unless they say otherwise."""

    source: str
    """Name of the source."""
    index: str
    """Name of the index that was written."""
    added: int
    """Documents that were new."""
    changed: int
    """Documents whose content differed."""
    unchanged: int
    """Documents that were left as they are."""
    deleted: int
    """Documents that the source no longer has."""
    dead_letters: int
    """Entries that could not be used."""
    embedded: int
    """Texts that went through the model, for this source and for a rebuild."""
    from_cache: int
    """Texts whose vectors came from the embedding cache."""
    rebuilt: int
    """Documents of all sources that were moved to another model or template."""
    seconds: dict[str, float]
    """By phase (read, embed, rebuild, write; those that took place), and in total."""
    unapproved: tuple[Unapproved, ...] = ()
    """What differs from the lock file, in the order of the source."""
    cut_texts: tuple[CutTexts, ...] = ()
    """Added or changed documents whose texts the models do not read to the end."""
    notes: tuple[str, ...] = ()
    """Notes for a person."""


def _check(source: Source, engine: Engine, options: SyncOptions) -> ApprovalCheck | None:
    if options.lock is None:
        return None
    category = source.category if isinstance(source, LabelledSource) else ""
    stored = engine.fetch if options.hold_back else None
    return ApprovalCheck(Approvals.read(options.lock), stored, category)


def sync(
    source: Source,
    engine: Engine,
    embedder: Embedder,
    cache: EmbeddingCache | None = None,
    options: SyncOptions = SyncOptions(),  # noqa: B008 - frozen
    progress: Progress | None = None,
) -> SyncReport:
    """Adds, replaces and deletes documents of one source until the engine holds what the source yields.

    Where the live index was built with another model or text template, all sources are moved to the new one.

    Raises:
        SourceError: the source could not be read to its end. Like the following, nothing was changed.
        InvalidLockFile: there is no lock file, or it is not whole.
        SuspiciousShrink: more than half of the source's documents are gone.
        WouldBePublic: documents would become visible to everybody that were not.
        SourceBusy: another process is syncing this source.
        InvalidEmbedding: the embedder returned something else than unit vectors.
        LocalWriteFailed: no room for temporary files, locks or dead letters.
        CatalogChanged: another process moved the catalog to another model meanwhile.
        EngineError: the engine failed; its session was rolled back.
    """
    check = _check(source, engine, options)
    with (
        source_lock(options.locks, engine.url, source.name, options.wait),
        DeadLetterFile(options.dead_letters, f"{engine.url} {source.name}") as letters,
        Spool() as spool,
    ):
        vectors = DocumentVectors(embedder, cache)
        recorder = ProgressRecorder(progress or NullProgress())
        last = LastSync(state_file(options.locks, "synced", "source", engine.url, source.name), source)
        cut = CutTextCounts(options.bounds)
        run = _Sync(source, engine, schema_of(embedder), vectors, spool, last, options, recorder, check, cut)
        return run.run(letters, cache)


@dataclass
class _Sync:
    """One run of `sync`, inside its lock."""

    source: Source
    engine: Engine
    schema: IndexSchema
    vectors: DocumentVectors
    spool: Spool
    last: LastSync
    options: SyncOptions
    progress: ProgressRecorder
    check: ApprovalCheck | None
    cut: CutTextCounts
    before: IndexSchema | None = None
    """Schema of the live index when the run began."""

    def run(self, letters: DeadLetterFile, cache: EmbeddingCache | None) -> SyncReport:
        started = time.monotonic()
        plan = self._plan(letters)
        if not self.options.allow_shrink:
            refuse_shrink(plan, self.source.name)
        if not self.options.public:
            refuse_publication(plan, self.source.name)
        if plan.written:
            self._embed(plan)
        index, rebuilt = self._write(plan, letters)
        if cache and cache.note:
            self.progress.note(cache.note)
        for summary in letters.summaries():
            self.progress.note(summary)
        return SyncReport(
            source=self.source.name,
            index=index,
            added=plan.added,
            changed=plan.changed,
            unchanged=plan.unchanged,
            deleted=plan.gone,
            dead_letters=letters.count,
            embedded=self.vectors.embedded,
            from_cache=self.vectors.from_cache,
            rebuilt=rebuilt,
            seconds={**self.progress.seconds, "total": time.monotonic() - started},
            cut_texts=self.cut.found(),
            notes=tuple(self.progress.notes),
            unapproved=tuple(self.check.unapproved) if self.check else (),
        )

    def _plan(self, letters: DeadLetterFile) -> SyncPlan:
        planner = Planner(self.source.name, self.spool, letters)
        with self._alone():
            live = self.engine.live()
            if live is not None:
                self.before = live[1]
                if (unchanged := self._still_held(live[0])) is not None:
                    return SyncPlan(held=unchanged, unchanged=unchanged)
                restricted = self.engine.restricted(live[0], self.source.name)
                planner.hold(self._held(live[0]), restricted)
        with self.progress.phase("read", None) as advance:
            items = with_purposes(read_source(self.source, self.options.source_timeout))
            items = map(self.options.reword, items) if self.options.reword else items
            planner.read(self.check.pass_on(items) if self.check else items, advance)
        return planner.plan

    def _held(self, index: str) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) that the index holds of the source."""
        return self.engine.hashes(index, self.source.name)

    def _still_held(self, index: str) -> int | None:
        """Number of documents where neither the source nor the index changed since the last sync."""
        if self.options.reread or self.check:
            return None
        documents = self.last.still_holds(self._held(index))
        if documents is not None:
            self.progress.note(f"{self.source.name}: nothing changed since the last sync, so it was not read")
        return documents

    def _remember(self, index: str, letters: DeadLetterFile) -> None:
        if letters.count or self.options.hold_back:
            self.last.forget()  # the next run names again what was left out
            return
        try:
            self.last.remember(self._held(index))
        except EngineError:
            self.last.forget()  # what was written is committed: not to remember it costs only time

    def _embed(self, plan: SyncPlan) -> None:
        with self.progress.phase("embed", plan.written) as advance:
            for batch in self.spool.pending(self.options.batch):
                places, documents = zip(*batch, strict=True)
                self.spool.attach(places, self.vectors.of(documents))
                self.cut.add(documents)
                advance(len(batch))

    def _write(self, plan: SyncPlan, letters: DeadLetterFile) -> tuple[str, int]:
        """Writes the changes. Returns the name of the index and the number of documents rebuilt for it."""
        with self._alone():
            index, rebuilt = self._move_catalog()
            if not plan.is_empty:
                self._apply(index, plan, letters)
            if "read" in self.progress.seconds:  # else what is remembered has just been confirmed
                self._remember(index, letters)
        return index, rebuilt

    def _move_catalog(self) -> tuple[str, int]:
        """The index to write; rebuilt for another schema unless another process has just done so.

        Nothing is asked after the swap: it is a separate commit, which an error must not hide.
        """
        live = self.engine.live()
        if live is None or live[1] == self.schema:
            return self.engine.ensure(self.schema), 0
        if live[1] != self.before:
            raise CatalogChanged(
                f"{self.engine.url} was moved to {live[1].model} by another process during this sync; "
                f"nothing was written. Agree on one model, then sync again"
            )
        return rebuild(self.engine, self.schema, self.vectors, self.options.batch, self.progress)

    def _apply(self, index: str, plan: SyncPlan, letters: DeadLetterFile) -> None:
        with (
            self.progress.phase("write", plan.written + plan.gone) as advance,
            self.engine.writing(index) as writer,
        ):
            for batch in self.spool.embedded(self.options.batch):
                for refused in write_accepted(writer, batch):
                    where = f"document {refused.document_id}"
                    letters.add(DeadLetter(self.source.name, where, refused.reason))
                advance(len(batch))
            writer.delete(self.spool.gone())
            advance(plan.gone)

    def _alone(self) -> AbstractContextManager[None]:
        """The lock for writing."""
        return catalog_lock(self.options.locks, self.engine.url, self.progress)
