"""Choosing the largest of many scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.corpus import Float32, Rows

_SAMPLED = 16
"""Every so many-th score of a long list tells where its largest begin."""
_LONG = 8192


def beyond(rows: Rows, known: Rows) -> Rows:
    """Those of the rows that are not among the known ones, of which there is at least one."""
    ordered = np.sort(known)
    places = np.minimum(np.searchsorted(ordered, rows), len(ordered) - 1)
    found: Rows = rows[ordered[places] != rows]
    return found


def largest(scores: Float32 | NDArray[np.int32], count: int) -> Rows:
    """Places of the `count` largest scores (n,) in any order; of a long list, about so many and never fewer.

    A long list is cut at a quantile of a sample: one comparison a score instead of a partial sort.
    """
    if len(scores) <= count:
        return np.arange(len(scores))
    if len(scores) >= _LONG:
        sample = scores[::_SAMPLED]
        wanted = -(-count // _SAMPLED) + 8
        places = np.flatnonzero(scores >= np.partition(sample, -wanted)[-wanted])
        if count <= len(places) <= 4 * count:
            return places
    return np.argpartition(scores, -count)[-count:]
