"""Files that keep results between runs: vectors of texts, and logits of pairs.

After a change of a profile no model runs; after a change of a model only that model runs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_ingest.embedder import Embedder, EmbeddingCache, cache_key
from kitpick_rescorers.scoring import Scorer, ScorerManifest

_REQUEST = 0
"""In place of the version of a text template: the text of a request is taken as it is."""
_KEYS_A_QUERY = 500


class RememberingEncoder:
    """An encoder of requests with a cache. Documents go through ingest, which has its own cache."""

    def __init__(self, encoder: Embedder, cache: EmbeddingCache) -> None:
        self.identity = encoder.identity
        self.dimensions = encoder.dimensions
        self._encoder = encoder
        self._cache = cache

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors (n, d), float32."""
        keys = [cache_key(self.identity, _REQUEST, text) for text in texts]
        known = dict(self._cache.get(keys, self.dimensions))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            fresh = dict(zip(missing, self._encoder.encode(list(missing.values())), strict=True))
            self._cache.put(fresh)
            known.update(fresh)
        rows = [known[key] for key in keys]
        return np.array(rows, np.float32).reshape(len(texts), self.dimensions)


class LogitFile:
    """Logits by key in one SQLite file, durable at each `put`. One process writes at a time."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(path, timeout=60.0, isolation_level=None)
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS logits (key BLOB PRIMARY KEY, logit REAL NOT NULL) WITHOUT ROWID"
        )

    def get(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The stored logits among these keys."""
        found: dict[bytes, float] = {}
        for start in range(0, len(keys), _KEYS_A_QUERY):
            part = keys[start : start + _KEYS_A_QUERY]
            marks = ",".join("?" * len(part))
            query = f"SELECT key, logit FROM logits WHERE key IN ({marks})"
            found.update(self._database.execute(query, part))
        return found

    def put(self, logits: dict[bytes, float]) -> None:
        """Stores logits."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            self._database.executemany("INSERT OR REPLACE INTO logits VALUES (?, ?)", logits.items())
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def close(self) -> None:
        """Releases the file."""
        self._database.close()


class RememberingScorer:
    """A cross-encoder that stores every logit, by model, request and text."""

    def __init__(self, scorer: Scorer, logits: LogitFile) -> None:
        self._scorer = scorer
        self._logits = logits
        self.read = 0
        """Pairs that went through the model."""

    @property
    def identity(self) -> str:
        """That of the model."""
        return self._scorer.identity

    @property
    def manifest(self) -> ScorerManifest:
        """That of the model."""
        return self._scorer.manifest

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), as the model gave them."""
        keys = [_pair_key(self.identity, query, text) for text in texts]
        known = self._logits.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            scores = self._scorer.score(query, list(missing.values()))
            fresh = dict(zip(missing, map(float, scores), strict=True))
            self._logits.put(fresh)
            known.update(fresh)
            self.read += len(fresh)
        return np.array([known[key] for key in keys], np.float32)

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities (n,). They are not stored, because a model can be calibrated again."""
        return self._scorer.probability(logits)


def _pair_key(*parts: str) -> bytes:
    digest = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.digest()
