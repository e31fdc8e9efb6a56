"""Scores of (query, text) pairs, remembered: a second round pays only for what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.errors import InvalidScores

if TYPE_CHECKING:
    from toolrank_rescorers.models import Scorer

Logits = NDArray[np.float64]


class ScoreCache:
    """Bounded memory of scores, least recently used out first. Safe to use from several threads.

    Keys are digests of model identity, query and text: no text is kept, and a changed text is another pair.
    """

    def __init__(self, capacity: int = 65_536) -> None:
        self._capacity = max(0, capacity)
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def __len__(self) -> int:
        return len(self._scores)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The known ones among the keys, with their scores."""
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
            self.hits += len(known)
            self.misses += len(keys) - len(known)
            return known

    def put(self, keys: Sequence[bytes], scores: Logits) -> None:
        """Remembers scores, forgetting the oldest beyond the capacity."""
        with self._lock:
            self._scores.update(zip(keys, scores.tolist(), strict=True))
            while len(self._scores) > self._capacity:
                self._scores.popitem(last=False)


def score_pairs(
    scorer: Scorer, cache: ScoreCache | None, query: str, texts: Sequence[str]
) -> tuple[Logits, int]:
    """Logits (n,) of the query with every text, and how many different texts were known already.

    Equal texts are scored once, so that two versions of one API never differ by rounding.

    Raises:
        InvalidScores: the model returned another number of scores, or one that is not finite.
    """
    keys = _keys(scorer.identity, query, texts)
    unique = dict(zip(keys, texts, strict=True))
    scores = cache.get(list(unique)) if cache is not None else {}
    missing = [key for key in unique if key not in scores]
    if missing:
        fresh = checked(scorer.score(query, [unique[key] for key in missing]), len(missing))
        scores.update(zip(missing, fresh.tolist(), strict=True))
        if cache is not None:
            cache.put(missing, fresh)
    return np.array([scores[key] for key in keys]), len(unique) - len(missing)


def _keys(identity: str, query: str, texts: Sequence[str]) -> list[bytes]:
    """One digest a pair; the prefix is hashed once."""
    prefix = blake2b(digest_size=16)
    for part in (identity, query):
        data = part.encode("utf-8", "surrogatepass")
        prefix.update(len(data).to_bytes(8, "little") + data)
    keys = []
    for text in texts:
        digest = prefix.copy()
        digest.update(text.encode("utf-8", "surrogatepass"))
        keys.append(digest.digest())
    return keys


def checked(scores: NDArray[np.floating[Any]], expected: int) -> Logits:
    """The scores as float64 (n,).

    Raises:
        InvalidScores: another number of scores than expected, or one that is not finite.
    """
    logits = np.asarray(scores, dtype=np.float64)
    if logits.shape != (expected,):
        raise InvalidScores(f"the model returned scores of shape {logits.shape} for {expected} texts")
    if not np.isfinite(logits).all():
        raise InvalidScores(f"{int((~np.isfinite(logits)).sum())} of {expected} scores are not finite")
    return logits
