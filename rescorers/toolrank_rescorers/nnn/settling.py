"""The middle of the exact solver: a working set grows inside a pool of rows until none of these violates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.compiled import compiled
from toolrank_rescorers.nnn.corpus import Float32, Float64, Rows
from toolrank_rescorers.nnn.kernels import exact_scan, product, scan_rows
from toolrank_rescorers.nnn.pivoting import State, extended, minimise, opened, residual_of

_MORE_ROWS = 32
_INNER_SHARE = 1e-4
"""The working set is solved this much tighter than what the pool is held to: it costs no further scan."""


class Pool(NamedTuple):
    """Rows of the corpus among which the working set may choose."""

    documents: Float32
    """The whole corpus (n, d)."""
    rows: Rows
    """The rows in the pool (m,), distinct."""
    penalties: Float64
    """l1 of these (m,)."""
    held: NDArray[np.bool_]
    """Which of these the working set holds (m,)."""
    roundoff: float
    """A scan in float32 is off by at most this times the length of the vector."""
    query: Float64
    """The query (d,)."""


class Settled(NamedTuple):
    """A working set at its minimum, and what is known of it and of those of the pool that come near."""

    state: State
    k: int
    places: Rows
    """Places in the pool of the rows of the state (w,), then of the others that come near."""
    correlations: Float64
    """d_iᵀr of these, float64."""
    residual: Float64
    rounds: int


@compiled
def settle(
    state: State,
    k: int,
    places: Rows,
    pool: Pool,
    tolerance: float,
    max_rounds: int,
) -> Settled:
    """Minimises, and lets the worst violators of the pool join, until none exceeds the tolerance."""
    rounds = 0
    while True:
        k, done = minimise(state, k, _INNER_SHARE * tolerance, max_rounds - rounds)
        rounds += done
        residual = residual_of(state, k, pool.query)
        near = _near(pool, residual)
        excess = exact_scan(pool.documents, pool.rows[near], residual) - pool.penalties[near]
        joining = _worst(excess, tolerance)
        if len(joining) == 0 or rounds >= max_rounds:
            break
        new = near[joining]
        vectors = _exact_rows(pool.documents, pool.rows[new])
        state = extended(state, k, vectors, product(vectors, pool.query) - pool.penalties[new])
        places = np.concatenate((places, new))
        pool.held[new] = True
        rounds += 1
    correlations = np.concatenate((product(state.vectors, residual), excess + pool.penalties[near]))
    return Settled(state, k, np.concatenate((places, near)), correlations, residual, rounds)


@compiled
def started(pool: Pool, places: Rows, l2: float) -> State:
    """A state that holds these rows of the pool (places in it), none of them active."""
    vectors = _exact_rows(pool.documents, pool.rows[places])
    pool.held[places] = True
    return opened(vectors, product(vectors, pool.query) - pool.penalties[places], l2)


@compiled
def _exact_rows(documents: Float32, rows: Rows) -> Float64:
    return documents[rows].astype(np.float64)


@compiled
def _near(pool: Pool, residual: Float64) -> Rows:
    """Places of the rows that are not held and whose d_iᵀr may exceed their penalty."""
    correlations = scan_rows(pool.documents, pool.rows, residual.astype(np.float32))
    slack = pool.roundoff * np.sqrt((residual * residual).sum())
    return np.flatnonzero((correlations > pool.penalties - slack) & ~pool.held)


@compiled
def _worst(excess: Float64, tolerance: float) -> Rows:
    """Places of those above the tolerance: all, or the largest `_MORE_ROWS`, largest first."""
    violators = np.flatnonzero(excess > tolerance)
    if len(violators) > _MORE_ROWS:
        order = np.argsort(-excess[violators], kind="mergesort")
        violators = violators[order[:_MORE_ROWS]]
    return violators
