"""Syncs one source in parts, each in its own process, on any number of machines.

Every process reads the whole source and takes the documents of its part, by a digest of their ids. So no
document is in two parts, whatever the order in which the source yields them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager

from kitpick_engines.contract import Engine, IndexSchema, JobPart, PartedEngine, Writer
from kitpick_ingest.entries import Converted
from kitpick_ingest.errors import CatalogChanged, NotSharded
from kitpick_ingest.fingerprints import FingerprintedSource
from kitpick_ingest.source import DeadLetter, Source

MOST_SHARDS = 1_000


class Sharding:
    """The differences between the sync of a whole source and that of one part."""

    def __init__(self, source: Source, engine: Engine, shard: tuple[int, int] | None) -> None:
        """Takes the part that `SyncOptions.shard` names.

        Raises:
            NotSharded: the engine has one writer at a time.
        """
        self._engine = engine
        self.source = source
        self.part: JobPart | None = None
        self.name = source.name
        """Name for locks and records."""
        if shard is not None:
            self.part = JobPart(source.name, *shard)
            self.source = SourcePart(source, self.part)
            self.name = f"{source.name} {self.part.number}/{self.part.parts}"
            if not isinstance(engine, PartedEngine):
                raise NotSharded(engine.url)

    def hashes(self, index: str) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) that the index holds of the part."""
        if self.part is not None and isinstance(self._engine, PartedEngine):
            return self._engine.hashes(index, self.source.name, self.part)
        return self._engine.hashes(index, self.source.name)

    def writing(self, index: str) -> AbstractContextManager[Writer]:
        """A session of the engine."""
        if self.part is not None and isinstance(self._engine, PartedEngine):
            return self._engine.writing_part(index, self.part)
        return self._engine.writing(index)

    def refuse_rebuild(self, held: IndexSchema) -> None:
        """Refuses to move one part alone to another model.

        Raises:
            CatalogChanged: this is the sync of one part.
        """
        if self.part is not None:
            raise CatalogChanged(
                f"{self._engine.url} holds vectors of {held.model}: to move it to another model, sync one "
                "source without a shard first"
            )


class SourcePart:
    """One part of a source. Its dead letters belong to the first part."""

    def __init__(self, source: Source, part: JobPart) -> None:
        self.name = source.name
        self._source = source
        self._part = part

    def read(self) -> Iterator[Converted]:
        """The documents of the part."""
        for item in self._source.read():
            if self._part.number == 1 if isinstance(item, DeadLetter) else self._part.holds(item.id):
                yield item

    def fingerprint(self) -> str | None:
        """The fingerprint of the whole source."""
        return self._source.fingerprint() if isinstance(self._source, FingerprintedSource) else None


def parse_shard(text: str) -> tuple[int, int]:
    """`i/n` as two numbers.

    Raises:
        ValueError: it is something else, or i is not among 1 … n.
    """
    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", text)
    if found is None:
        raise ValueError(f"{text[:40]!r} is not of the form 2/8")
    number, parts = int(found[1]), int(found[2])
    if not 1 <= number <= parts <= MOST_SHARDS:
        raise ValueError(f"{text} is not among 1/{parts} … {parts}/{parts}, of {MOST_SHARDS} at most")
    return number, parts
