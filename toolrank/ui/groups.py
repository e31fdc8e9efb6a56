"""Which candidates are alike: the graph that diversification works on, over the head of any list."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolrank.ui.protocol import Edge, Groups
from toolrank_engines.contract import Candidate
from toolrank_rescorers.stages.diversify import adjacency, components
from toolrank_rescorers.state import Ranked, unit_vectors

MAX_NODES = 60
"""More are no picture any more."""


def groups(head: Sequence[tuple[int, Candidate]], similarity: float) -> Groups:
    """The graph and its connected components.

    Args:
        head: position and candidate, best first; the first `MAX_NODES` count.
        similarity: cosine beyond which two are joined; APIs of one tool always are.
    """
    shown = head[:MAX_NODES]
    ranked = [Ranked(item, item.tool_key, rank) for rank, (_, item) in enumerate(shown, start=1)]
    vectors, _ = unit_vectors(ranked)
    cosines = vectors @ vectors.T
    joined = adjacency(ranked, cosines > similarity)
    edges = tuple(
        Edge(int(one), int(other), float(cosines[one, other]), ranked[one].tool == ranked[other].tool)
        for one, other in np.argwhere(np.triu(joined, 1))
    )
    return Groups(tuple(place for place, _ in shown), tuple(components(joined)), edges, similarity)
