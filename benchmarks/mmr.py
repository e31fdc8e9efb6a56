"""Maximal marginal relevance: picks APIs one by one, relevant to the query and unlike those picked before.

The classical way to a diverse list (Carbonell and Goldstein, SIGIR 1998), and the baseline of NNN decoding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def mmr(
    relevance: NDArray[np.floating],
    vectors: NDArray[np.floating],
    diversity: float,
    limit: int | None = None,
) -> NDArray[np.intp]:
    """Orders candidates greedily by (1 − δ)·relevance_i − δ·max over those already chosen of v_iᵀv_j.

    (Carbonell & Goldstein, The use of MMR, 1998; δ as in Appendix B.3 of the NNN paper.)

    Args:
        relevance: Scores (m,), on the scale of a cosine.
        vectors: Unit vectors (m, d).
        diversity: δ in [0, 1]; 0 orders by relevance alone.
        limit: How many to choose; all of them by default.

    Returns:
        Positions of the chosen, first first; ties go to the lower position.

    Raises:
        ValueError: δ out of range, or shapes that do not match.
    """
    if not 0.0 <= diversity <= 1.0:
        raise ValueError(f"diversity is a share in [0, 1], got {diversity!r}")
    if vectors.ndim != 2 or relevance.shape != vectors.shape[:1]:
        raise ValueError(f"one score per vector: got {relevance.shape} and {vectors.shape}")
    wanted = len(relevance) if limit is None else max(0, min(limit, len(relevance)))
    gain = (1.0 - diversity) * relevance.astype(np.float64)
    closest = np.zeros(len(relevance))
    order = np.empty(wanted, dtype=np.intp)
    for place in range(wanted):
        chosen = int(np.argmax(gain - diversity * closest))
        order[place] = chosen
        similarity = vectors @ vectors[chosen]
        closest = np.maximum(closest, similarity) if place else similarity.astype(np.float64)
        gain[chosen] = -np.inf
    return order
