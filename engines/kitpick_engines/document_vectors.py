"""The vector of a document: the mean of the vectors of its two texts.

Both say what an API does. The second names the parameters too: within one text these make the APIs of a tool
alike, as half of a mean they tell them apart (benchmarks/notes/2026-11-30-two-texts.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from kitpick_engines.contract import Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text, retrieval_text


def document_vectors(
    documents: Iterable[ApiDocument], encode: Callable[[tuple[str, ...]], Sequence[Vector]]
) -> list[Vector]:
    """Unit vectors of documents, float32 (d,), in their order.

    Args:
        documents: any number.
        encode: gives the unit vectors of texts, float32 (d,), in their order.
    """
    texts = tuple(text for each in documents for text in (retrieval_text(each), rerank_text(each)))
    vectors = encode(texts) if texts else ()
    return [mean_vector(pair) for pair in zip(vectors[::2], vectors[1::2], strict=True)]


def mean_vector(vectors: Sequence[Vector]) -> Vector:
    """Their mean scaled to length 1, float32 (d,); the first one where they cancel each other out."""
    total = np.sum(vectors, axis=0, dtype=np.float64)
    length = float(np.linalg.norm(total))
    return np.asarray(total / length, np.float32) if length else vectors[0]
