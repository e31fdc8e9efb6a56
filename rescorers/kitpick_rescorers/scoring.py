"""Scores of (query, text) pairs: the protocol of what gives them, their order, and a cache.

With the cache a second round scores only new pairs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from copy import copy
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.forks import fork_lock
from kitpick_foundation.visible import says_nothing
from kitpick_rescorers.errors import InvalidScores, ScoredInPart

Logits = NDArray[np.float64]

BLANK_LOGIT = -12.0
"""Logit of a text that says nothing: about the lowest that cross-encoders give."""


class ScorerManifest(Protocol):
    """The manifest of a cross-encoder."""

    @property
    def thresholds(self) -> Mapping[str, float]:
        """Probabilities tuned for this model: `concentrate`, `abstain`."""

    def is_seen(self, tool_key: str) -> bool:
        """Whether this model was trained on requests for this tool."""


class Scorer(Protocol):
    """A cross-encoder: how well does a text answer a query?"""

    @property
    def identity(self) -> str:
        """Name and digest: equal identities give equal scores."""

    @property
    def manifest(self) -> ScorerManifest:
        """Its thresholds and the tools it was trained on."""

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text; higher is better."""

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated probabilities (n,) in [0, 1], monotone in the logits."""


class ScoreCache:
    """A bounded cache of scores with least-recently-used eviction. Safe to use from several threads.

    Keys are digests of owner, model identity, query and text: no text is kept, and a changed text is another
    pair. What one owner's pairs cost another cannot tell from its own answers, nor how fast they come.
    """

    def __init__(self, capacity: int = 65_536) -> None:
        self._capacity = max(0, capacity)
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = fork_lock()
        self._counts = {"hits": 0, "misses": 0}
        self.owner: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self._scores)

    def of_owner(self, owner: tuple[str, ...]) -> ScoreCache:
        """A view of the cache with pairs that only this owner can find."""
        view = copy(self)
        view.owner = owner
        return view

    @property
    def hits(self) -> int:
        """Pairs that were found in the cache, of all owners."""
        return self._counts["hits"]

    @property
    def misses(self) -> int:
        """Pairs that were not found in the cache, of all owners."""
        return self._counts["misses"]

    def get(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """The known ones among the keys, with their scores."""
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
            self._counts["hits"] += len(known)
            self._counts["misses"] += len(keys) - len(known)
            return known

    def lacks(self, keys: Sequence[bytes]) -> list[bool]:
        """Which of the keys it does not know; counts nothing, and keeps nothing alive."""
        with self._lock:
            return [key not in self._scores for key in keys]

    def put(self, keys: Sequence[bytes], scores: Logits) -> None:
        """Stores scores and evicts the oldest beyond the capacity."""
        with self._lock:
            self._scores.update(zip(keys, scores.tolist(), strict=True))
            while len(self._scores) > self._capacity:
                self._scores.popitem(last=False)


def score_pairs(
    scorer: Scorer, cache: ScoreCache | None, query: str, texts: Sequence[str]
) -> tuple[Logits, int]:
    """Logits (n,) of the query with every text, and how many different texts were known already.

    Equal texts are scored once, so that two versions of one API never differ by rounding. Texts that say
    nothing are not given to the model, which may like them: they get `BLANK_LOGIT`.

    Raises:
        InvalidScores: the model returned another number of scores, or one that is not finite.
        ScoredInPart: a deadline stopped the model. What it had scored is in the error, and in the cache.
    """
    keys = _keys(() if cache is None else cache.owner, scorer.identity, query, texts)
    unique = dict(zip(keys, texts, strict=True))
    scores = {key: BLANK_LOGIT for key, text in unique.items() if says_nothing(text)}
    if cache is not None:
        scores.update(cache.get([key for key in unique if key not in scores]))
    missing = [key for key in unique if key not in scores]
    if missing:
        try:
            fresh = checked(scorer.score(query, [unique[key] for key in missing]), len(missing))
        except ScoredInPart as part:
            scores.update(_kept(cache, missing, part.logits))
            part.logits = np.array([scores.get(key, np.nan) for key in keys])
            raise
        scores.update(_kept(cache, missing, fresh))
    return np.array([scores[key] for key in keys]), len(unique) - len(missing)


def _kept(cache: ScoreCache | None, keys: Sequence[bytes], logits: Logits) -> dict[bytes, float]:
    """The scores (n,) of keys that are numbers; the cache keeps them, too."""
    read = np.isfinite(logits)
    found = [key for key, known in zip(keys, read, strict=True) if known]
    if cache is not None:
        cache.put(found, logits[read])
    return dict(zip(found, logits[read].tolist(), strict=True))


def unscored(identity: str, cache: ScoreCache | None, query: str, texts: Sequence[str]) -> list[str]:
    """The texts that a model of this identity would have to read: those whose scores are not in the cache."""
    if cache is None:
        return list(texts)
    missing = cache.lacks(_keys(cache.owner, identity, query, texts))
    return [text for text, lacking in zip(texts, missing, strict=True) if lacking]


def _keys(owner: tuple[str, ...], identity: str, query: str, texts: Sequence[str]) -> list[bytes]:
    """One digest a pair; the prefix is hashed once."""
    prefix = blake2b(digest_size=16)
    for part in (str(len(owner)), *owner, identity, query):
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


def isotonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest values (n,) that never rise, by least squares: neighbours that rise get their mean.

    Pool adjacent violators (Ayer et al., Annals of Mathematical Statistics 26, 1955). The sum stays the same.
    """
    pools: list[tuple[float, int]] = []
    for value in values.tolist():
        total, count = value, 1
        while pools and pools[-1][0] / pools[-1][1] < total / count:
            total, count = total + pools[-1][0], count + pools[-1][1]
            pools.pop()
        pools.append((total, count))
    return np.repeat([total / count for total, count in pools], [count for _, count in pools])
