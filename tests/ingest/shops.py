"""A catalog on disk, an embedder that is quick, and sources written down in the test."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import IndexSchema
from kitpick_engines.document import ApiDocument, document_id
from kitpick_engines.sqlite import SqliteEngine, SqliteSettings
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_foundation.disk import DISK, Disk
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sync import SyncOptions, SyncReport, sync

State = dict[str, tuple[str, bytes]]


def read_letters(path: Path) -> list[DeadLetter]:
    """The letters of a dead-letter file."""
    return msgspec.json.Decoder(DeadLetter).decode_lines(path.read_bytes())


class HashEmbedder:
    """Unit vectors drawn by the hash of the text and of the model's name.

    Remembers the texts unless it `forgets`.
    """

    def __init__(self, identity: str = "hash@1", dimensions: int = 8) -> None:
        self.identity = identity
        self.dimensions = dimensions
        self.texts: list[str] = []
        self.forgets = False

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not self.forgets:
            self.texts += texts
        return np.stack([self.vector(text) for text in texts])

    def vector(self, text: str) -> NDArray[np.float32]:
        seed = hashlib.blake2b(f"{self.identity} {text}".encode(), digest_size=8).digest()
        drawn = np.random.default_rng(int.from_bytes(seed, "little")).standard_normal(self.dimensions)
        return (drawn / np.linalg.norm(drawn)).astype(np.float32)

    def of(self, document: ApiDocument) -> NDArray[np.float32]:
        """The vector that a catalog holds of a document."""
        first, second = (self.vector(text(document)).astype(float) for text in (retrieval_text, rerank_text))
        return ((first + second) / np.linalg.norm(first + second)).astype(np.float32)


class Listed:
    """A source that yields what it is given; a function among the items is called when its turn comes."""

    def __init__(self, name: str, items: Sequence[Any]) -> None:
        self.name = name
        self._items = items

    def read(self) -> Iterator[ApiDocument | DeadLetter]:
        for item in self._items:
            if callable(item):
                item()
            else:
                yield item


def api(name: str, description: str = "", source: str = "pets", **fields: Any) -> ApiDocument:
    return ApiDocument(
        id=document_id(source, "shop", name),
        source=source,
        category="Animals",
        tool="shop",
        api=name,
        description=description,
        **fields,
    )


class Shop:
    """A catalog with all that a sync into it needs."""

    def __init__(self, folder: Path, disk: Disk = DISK, settings: SqliteSettings = SqliteSettings()) -> None:  # noqa: B008 - frozen
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.engine = SqliteEngine(folder / "catalog.db", settings, disk)
        self.embedder = HashEmbedder()
        self.cache: EmbeddingCache | None = EmbeddingCache(folder / "embeddings.db", disk=disk)
        self.letters = folder / "dead.jsonl"

    def sync(
        self, *items: Any, source: str = "pets", embedder: Any = None, progress: Any = None, **options: Any
    ) -> SyncReport:
        return sync(
            Listed(source, items),
            self.engine,
            embedder or self.embedder,
            self.cache,
            SyncOptions(locks=self.folder / "locks", dead_letters=self.letters, **options),
            progress,
        )

    def state(self) -> State:
        """Hash and vector of every document of the live index."""
        live = self.engine.live()
        if live is None:
            return {}
        return {
            item.document.id: (item.document.content_hash, item.vector.tobytes())
            for item in self.engine.documents(live[0])
        }

    def schema(self) -> IndexSchema:
        live = self.engine.live()
        assert live is not None
        return live[1]

    def close(self) -> None:
        self.engine.close()
        if self.cache:
            self.cache.close()
