"""Exact scores of what a server chose, the same for every engine.

The server's own scores depend on all documents, also on invisible and replaced ones. Here BM25F is computed
with the statistics of the visible documents, as the server counted them for this request, and inner
products in float64 from the vectors as they were written: equal catalogs give equal rankings, and a score
tells nothing about what its reader may not see. Only which documents are scored at all, at the end of a
long list, is the server's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from toolrank_engines.contract import Place, Vector
from toolrank_engines.lexical.bm25 import Postings, Visible, bm25f
from toolrank_engines.lexical.words import FIELDS
from toolrank_engines.remote.counting import Counts
from toolrank_engines.remote.server import Json

Places = dict[str, Place]
"""Places by document id, best first."""


def lexical_places(
    sources: Sequence[Json], counts: Counts, terms: Sequence[str], weights: NDArray[np.float64]
) -> Places:
    """All hits by BM25F.

    Args:
        sources: of the hits: id, counts of the terms, lengths by field.
        counts: of what is visible, with all of the terms.
        terms: of the request, in alphabetical order.
        weights: by field (fields,).
    """
    if not sources or not counts.documents:
        return {}
    averages = np.maximum(np.array(counts.words) / counts.documents, 1e-9)
    shown = Visible(np.ones(len(sources), dtype=bool), counts.documents, averages)
    lengths = np.array([[source["lengths"][name] for name in FIELDS] for source in sources], np.float64)
    postings = (_postings(term, sources, lengths, counts.holders[term]) for term in terms)
    return _places([source["id"] for source in sources], bm25f(postings, shown, weights))


def dense_places(sources: Sequence[Json], vectors: Sequence[Vector], query: Vector) -> Places:
    """All hits by inner product with a query of any length."""
    if not sources:
        return {}
    length = float(np.linalg.norm(query.astype(np.float64)))
    unit = query.astype(np.float64) / (length or 1.0)
    scores = (np.stack(vectors).astype(np.float64) * unit).sum(axis=1) * length
    return _places([source["id"] for source in sources], scores)


def _postings(term: str, sources: Sequence[Json], lengths: NDArray[np.float64], holders: int) -> Postings:
    counts = np.array([_counts(source, term) for source in sources], np.float64)
    positions, fields = np.nonzero(counts)
    return Postings(
        positions.astype(np.int64),
        fields.astype(np.int8),
        counts[positions, fields],
        lengths[positions, fields],
        holders,
    )


def _counts(source: Json, term: str) -> list[int]:
    found: list[int] | None = source.get("counts", {}).get(term)
    return found or [0] * len(FIELDS)


def _places(ids: Sequence[str], scores: NDArray[np.float64]) -> Places:
    order = sorted(range(len(ids)), key=lambda position: (-scores[position], ids[position]))
    return {ids[position]: Place(rank, float(scores[position])) for rank, position in enumerate(order, 1)}
