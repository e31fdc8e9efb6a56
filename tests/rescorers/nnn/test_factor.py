"""The factor after any insertions and deletions is the factor of what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolrank_rescorers.nnn.factor import InverseFactor


@given(seed=st.integers(0, 2**32), steps=st.lists(st.integers(0, 99), min_size=1, max_size=40))
def test_updates_agree_with_factoring_anew(seed: int, steps: list[int]) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((len(steps), 9))
    gram = rows @ rows.T + 0.1 * np.eye(len(steps))
    factor, kept = InverseFactor(capacity=2), []
    for new, step in enumerate(steps):
        projected = factor.project(gram[kept, new])
        factor.insert(projected, gram[new, new] - projected @ projected)
        kept.append(new)
        if step % 3 == 0:
            place = step % len(kept)
            factor.delete(place)
            del kept[place]
    expected = gram[np.ix_(kept, kept)]
    right = rng.standard_normal(len(kept))
    np.testing.assert_allclose(expected @ factor.solve(right), right, atol=1e-9)
    np.testing.assert_allclose(factor.matrix @ expected @ factor.matrix.T, np.eye(len(kept)), atol=1e-9)


@pytest.mark.parametrize("place", [0, 25, 49])
def test_long_sequences_of_updates_do_not_lose_precision(place: int) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((500, 60)) + 2
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    factor, kept = InverseFactor(), []
    for new in range(500):
        projected = factor.project(rows[kept] @ rows[new])
        factor.insert(projected, 1.001 - projected @ projected)
        kept.append(new)
        if len(kept) > 50:
            factor.delete(place)
            del kept[place]
    gram = rows[kept] @ rows[kept].T + 0.001 * np.eye(50)
    np.testing.assert_allclose(gram @ factor.solve(np.ones(50)), 1, atol=1e-9)
