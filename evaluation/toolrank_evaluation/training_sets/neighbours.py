"""What a first stage would propose for each request: tf-idf and dense rankings, fused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
RRF_K = 60
_BLOCK = 512


def fused_neighbours(
    requests: Sequence[str], texts: Sequence[str], encode: Encode, k: int
) -> NDArray[np.int32]:
    """Indices of the k texts that lexical and dense ranking together put first, int32 (requests, k).

    Reciprocal rank fusion (Cormack et al., SIGIR 2009) of the top 2·k of both; ties by index.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    k = min(k, len(texts))
    lexical = TfidfVectorizer(sublinear_tf=True, stop_words="english", max_df=0.2, dtype=np.float32)
    try:
        text_rows = lexical.fit_transform(texts)
    except ValueError:  # a handful of texts: every word is in too many of them
        lexical = TfidfVectorizer(dtype=np.float32)
        text_rows = lexical.fit_transform(texts)
    request_rows = lexical.transform(requests)
    text_vectors, request_vectors = encode(texts), encode(requests)
    found = np.empty((len(requests), k), np.int32)
    for start in range(0, len(requests), _BLOCK):
        block = slice(start, start + _BLOCK)
        dense = request_vectors[block] @ text_vectors.T
        words = np.asarray((request_rows[block] @ text_rows.T).todense())
        found[block] = _fused(words, dense, k)
    return found


def _fused(first: NDArray[np.float32], second: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    depth = min(2 * k, first.shape[1])
    points = np.zeros(first.shape, np.float32)
    rows = np.arange(len(first))[:, None]
    for scores in (first, second):
        points[rows, _top(scores, depth)] += 1.0 / (RRF_K + 1 + np.arange(depth, dtype=np.float32))
    return _top(points, k).astype(np.int32)


def _top(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Columns of the k largest scores per row, best first."""
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    some.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)
