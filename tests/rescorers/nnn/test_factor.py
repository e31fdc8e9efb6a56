"""The factor after any insertions and deletions is the factor of what is left."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.nnn.gram import delete, insert, project, solve


def append(state: np.ndarray, gram: np.ndarray, kept: list[int], new: int) -> None:
    projected = project(state, len(kept), gram[kept, new])
    insert(state, len(kept), projected, gram[new, new] - projected @ projected)
    kept.append(new)


def remove(state: np.ndarray, kept: list[int], place: int) -> None:
    delete(state, len(kept), place)
    del kept[place]


@settings(deadline=None)
@given(seed=st.integers(0, 2**32), steps=st.lists(st.integers(0, 99), min_size=1, max_size=40))
def test_updates_agree_with_factoring_anew(seed: int, steps: list[int]) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((len(steps), 9))
    gram = rows @ rows.T + 0.1 * np.eye(len(steps))
    state, kept = np.zeros_like(gram), []
    for new, step in enumerate(steps):
        append(state, gram, kept, new)
        if step % 3 == 0:
            remove(state, kept, step % len(kept))
    k, expected = len(kept), gram[np.ix_(kept, kept)]
    right = rng.standard_normal(k)
    np.testing.assert_allclose(expected @ solve(state, k, right), right, atol=1e-9)
    np.testing.assert_allclose(state[:k, :k] @ expected @ state[:k, :k].T, np.eye(k), atol=1e-9)
    assert not state[k:].any()


@pytest.mark.parametrize("place", [0, 25, 49])
def test_long_sequences_of_updates_do_not_lose_precision(place: int) -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((500, 60)) + 2
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    gram = rows @ rows.T + 0.001 * np.eye(500)
    state, kept = np.zeros((51, 51)), []
    for new in range(500):
        append(state, gram, kept, new)
        if len(kept) > 50:
            remove(state, kept, place)
    expected = gram[np.ix_(kept, kept)]
    np.testing.assert_allclose(expected @ solve(state, 50, np.ones(50)), 1, atol=1e-9)
