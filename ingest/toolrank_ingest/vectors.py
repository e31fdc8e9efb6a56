"""Vectors of documents: out of the cache where their text was embedded before, else out of the embedder."""

from __future__ import annotations

from collections.abc import Sequence

from toolrank_engines.contract import Vector
from toolrank_engines.document import ApiDocument
from toolrank_engines.text import TEMPLATE_VERSION, retrieval_text
from toolrank_ingest.embedder import Embedder, encode_checked
from toolrank_ingest.embedding_cache import EmbeddingCache, cache_key


class DocumentVectors:
    """Computes vectors and counts: `embedded` texts that went through the model, documents `from_cache`."""

    def __init__(self, embedder: Embedder, cache: EmbeddingCache | None) -> None:
        self.embedded = 0
        self.from_cache = 0
        self._embedder = embedder
        self._cache = cache

    def of(self, documents: Sequence[ApiDocument]) -> list[Vector]:
        """Unit vectors of float32 (d,), in the order of the documents. Equal texts are embedded once.

        Raises:
            InvalidEmbedding: the embedder returned something else.
        """
        texts = [retrieval_text(document) for document in documents]
        keys = [cache_key(self._embedder.identity, TEMPLATE_VERSION, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._cache.get(list(wanted), self._embedder.dimensions) if self._cache else {}
        missing = {key: text for key, text in wanted.items() if key not in known}
        self.from_cache += sum(key in known for key in keys)
        known.update(self._embed(missing))
        return [known[key] for key in keys]

    def _embed(self, missing: dict[bytes, str]) -> dict[bytes, Vector]:
        if not missing:
            return {}
        vectors = encode_checked(self._embedder, list(missing.values()))
        self.embedded += len(missing)
        fresh: dict[bytes, Vector] = dict(zip(missing, vectors, strict=True))
        if self._cache:
            self._cache.put(fresh)
        return fresh
