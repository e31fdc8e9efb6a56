"""Maximal marginal relevance: relevance alone at one end, diversity at the other."""

from __future__ import annotations

import numpy as np
import pytest
from mmr import mmr

RELEVANCE = np.array([0.9, 0.89, 0.5])
VECTORS = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


def test_without_diversity_the_order_is_by_relevance() -> None:
    assert mmr(RELEVANCE, VECTORS, 0.0).tolist() == [0, 1, 2]


def test_a_near_duplicate_falls_behind_something_new() -> None:
    assert mmr(RELEVANCE, VECTORS, 0.5).tolist() == [0, 2, 1]


def test_ties_go_to_the_lower_position() -> None:
    assert mmr(np.ones(3), np.eye(3), 0.3).tolist() == [0, 1, 2]


def test_the_limit_bounds_the_list() -> None:
    assert mmr(RELEVANCE, VECTORS, 0.5, limit=2).tolist() == [0, 2]
    assert mmr(RELEVANCE, VECTORS, 0.5, limit=9).tolist() == [0, 2, 1]
    assert mmr(RELEVANCE[:0], VECTORS[:0], 0.5).tolist() == []


@pytest.mark.parametrize("diversity", [-0.1, 1.1, np.nan])
def test_diversity_is_a_share(diversity: float) -> None:
    with pytest.raises(ValueError, match="share"):
        mmr(RELEVANCE, VECTORS, diversity)


def test_shapes_must_match() -> None:
    with pytest.raises(ValueError, match="one score per vector"):
        mmr(RELEVANCE[:2], VECTORS, 0.5)
