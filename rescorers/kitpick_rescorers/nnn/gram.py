"""The active-set method on a Gram matrix with its Cholesky factor: the inner loops of the exact solver.

The state lives in arrays that the caller owns, so that the same code runs compiled. The number k of active
rows is passed along and returned.

The factor is kept by insertion and deletion, as M = L⁻¹ for K = L Lᵀ, K = D_S D_Sᵀ + l2 I of the k active
rows, in the leading block of a larger array. Every operation costs O(k²), none O(k³). Holding the inverse of
the triangular factor rather than the factor makes a solve two matrix–vector products; its condition is only
the square root of that of K⁻¹.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitpick_rescorers.nnn.corpus import Float64, Rows
from kitpick_rescorers.nnn.kernels import (
    Stop,
    block_product,
    compiled,
    complete_product,
    lower_combination,
    lower_product,
    own_products,
    preceding_sums,
    rows_combination,
)

DEPENDENT = 1e-10
"""A row counts as dependent on the active ones when less than this share of it is left unexplained."""
_INSEPARABLE = 1e-15
_ENTERING = 4
"""Violators added in one round: few are fewest steps, more are fewest rounds."""


@compiled
def solve(factor: Float64, k: int, right: Float64) -> Float64:
    """K⁻¹ b (k,)."""
    return lower_combination(lower_product(factor, k, right), factor, k)


@compiled
def project(factor: Float64, k: int, column: Float64) -> Float64:
    """L⁻¹ x of a new row's Gram column (k,): its ‖·‖² is how much of the row the active ones explain."""
    return lower_product(factor, k, column)


@compiled
def insert(factor: Float64, k: int, projected: Float64, pivot: float) -> None:
    """Appends a row: L gains the row [projectedᵀ, √pivot], pivot = κ − ‖projected‖² > 0."""
    scale = 1.0 / np.sqrt(pivot)
    factor[k, :k] = -scale * lower_combination(projected, factor, k)
    factor[k, k] = scale


@compiled
def delete(factor: Float64, k: int, p: int) -> None:
    """Removes active row p of k.

    The trailing block of L becomes L₃₃ C with C Cᵀ = I + w wᵀ, w = L₃₃⁻¹ L[p+1:, p]. With
    t_i = 1 + Σ_{j ≤ i} w_j², a sum of squares, so that the update is stable,

        (C⁻¹ x)_i = √(t_{i-1}/t_i) (x_i − w_i/t_{i-1} Σ_{j<i} w_j x_j)

    (Gill, Golub, Murray & Saunders, Methods for modifying matrix factorizations, 1974).
    """
    gone = factor[p, : p + 1].copy()
    trailing = factor[p + 1 : k, :k].copy()
    w = trailing[:, p] / -gone[p]
    trailing[:, : p + 1] += np.outer(w, gone)
    sums = 1.0 + np.cumsum(w * w)
    before = np.append(np.ones(1), sums)[:-1]
    trailing -= np.expand_dims(w / before, 1) * preceding_sums(w, trailing)
    trailing *= np.expand_dims(np.sqrt(before / sums), 1)
    factor[p : k - 1, :p] = trailing[:, :p]
    factor[p : k - 1, p : k - 1] = trailing[:, p + 1 :]
    factor[k - 1, :k] = 0.0


class SolverState(NamedTuple):
    """State over w rows. The first k of `active` have the first k weights of `z`, > 0, as they entered."""

    vectors: Float64
    """D_W (w, d)."""
    gram: Float64
    """D_W D_Wᵀ (w, w), of which only the beginnings of rows are filled."""
    filled: Rows
    """How much of each row of the Gram matrix is there (w,): all of those that are active."""
    linear: Float64
    """D_W q − l1 (w,)."""
    l2: float
    factor: Float64
    """Inverse Cholesky factor of gram[active, active] + l2 I, in a (w, w) array."""
    active: Rows
    z: Float64


@compiled
def improve(
    state: SolverState, k: int, refused: NDArray[np.bool_], tolerance: float, max_rounds: int, stop: Stop
) -> tuple[int, int]:
    """Adds violators and drops what turns negative until none is above the tolerance.

    It begins at a minimum over the active rows (`descend`). After `max_rounds`, or at a stop, violators may
    remain.

    Args:
        state: Its active rows are the first k.
        k: Number of these.
        refused: Rows (w,) that changed nothing in the last round, and are left out of the next. Kept up to
            date, so that who goes on after `max_rounds` goes on as if there had been no pause.
        tolerance: Largest violation that counts as none.
        max_rounds: How many at most.
        stop: Ends it.
    """
    gram, linear, active, z = state.gram, state.linear, state.active, state.z
    for done in range(max_rounds):
        if stop[0]:
            return k, done
        excess = linear - rows_combination(z[:k], gram, active[:k])
        excess[active[:k]] = -np.inf
        excess[refused] = -np.inf
        before = active[:k].copy()
        entering, count = worst_of(excess, tolerance)
        entered = np.zeros(len(linear), dtype=np.bool_)
        entered[entering[:count]] = True
        if count == len(entering) and not state.filled[entering].any():
            own_products(state.vectors, entering, gram)
            state.filled[entering] = len(linear)
        for nth in range(count):
            grown = enter(state, k, entering[nth], DEPENDENT)
            if grown == k and nth == 0:
                k = exchange(state, k, entering[nth])
                entered[entering[1:count]] = False
                break
            k = grown
        if not entered.any():
            return k, done
        k = descend(state, k, stop)
        if k == len(before) and (active[:k] == before).all():
            refused[:] = entered
        else:
            refused[:] = False
    return k, max_rounds


@compiled
def worst_of(excess: Float64, tolerance: float) -> tuple[Rows, int]:
    """Places of the largest that exceed the tolerance, and how many there are; takes them out."""
    worst = np.zeros(_ENTERING, dtype=np.intp)
    for nth in range(_ENTERING):
        position = int(np.argmax(excess))
        if not excess[position] > tolerance:
            return worst, nth
        worst[nth] = position
        excess[position] = -np.inf
    return worst, _ENTERING


@compiled
def gram_row(state: SolverState, position: int) -> Float64:
    """D_W d_p (w,): completed when a row is looked at, since few of them ever enter."""
    row: Float64 = state.gram[position]
    if state.filled[position] < len(row):
        complete_product(state.vectors, state.filled[position], state.vectors[position], row)
        state.filled[position] = len(row)
    return row


@compiled
def enter(state: SolverState, k: int, position: int, floor: float) -> int:
    """Makes a row active at weight 0, unless it depends on those that are. Returns the new k."""
    column = gram_row(state, position)
    projected = project(state.factor, k, column[state.active[:k]])
    energy = column[position] + state.l2
    pivot = energy - (projected * projected).sum()
    if pivot <= floor * energy:
        return k
    insert(state.factor, k, projected, pivot)
    state.active[k] = position
    state.z[k] = 0.0
    return k + 1


@compiled
def exchange(state: SolverState, k: int, position: int) -> int:
    """Trades a dependent row d_j = Σ u_i d_i for active ones, so that the reconstruction stands still.

    The objective falls at the rate of the row's excess until the first z_i reaches 0. Without such an i the
    row cannot be told apart from what is active, and stays out; the certificate then shows what it violates.
    """
    z = state.z
    direction = solve(state.factor, k, gram_row(state, position)[state.active[:k]])
    falling = direction > 0.0
    if not falling.any():
        return k
    ratios = np.where(falling, z[:k] / np.where(falling, direction, 1.0), np.inf)
    step = ratios.min()
    z[:k] -= step * direction
    k = drop(state, k, ratios == step)
    grown = enter(state, k, position, _INSEPARABLE)
    if grown > k:
        z[k] = step
    return grown


@compiled
def descend(state: SolverState, k: int, stop: Stop) -> int:
    """Moves to the minimiser over the active rows, stopping to drop what would turn negative.

    Solves are refined once against the Gram matrix itself, to working precision. Returns the new k.
    """
    z = state.z
    while k > 0 and not stop[0]:
        chosen = state.active[:k]
        right = state.linear[chosen]
        target = solve(state.factor, k, right)
        explained = block_product(state.gram, chosen, target) + state.l2 * target
        target = target + solve(state.factor, k, right - explained)
        if target.min() > 0.0:
            z[:k] = target
            break
        falling = target <= 0.0
        fall = np.where(falling & (z[:k] > 0.0), z[:k] - target, 1.0)
        ratios = np.where(falling, z[:k] / fall, np.inf)
        step = ratios.min()
        z[:k] += step * (target - z[:k])
        k = drop(state, k, ratios == step)
    return k


@compiled
def drop(state: SolverState, k: int, leaving: NDArray[np.bool_]) -> int:
    """Removes the marked active rows (k,). Returns the new k."""
    for place in np.flatnonzero(leaving)[::-1]:
        delete(state.factor, k, place)
        state.active[place : k - 1] = state.active[place + 1 : k].copy()
        state.z[place : k - 1] = state.z[place + 1 : k].copy()
        k -= 1
    return k


@compiled
def residual_of(state: SolverState, k: int, query: Float64) -> Float64:
    """Residual q − Dᵀz (d,)."""
    return query - rows_combination(state.z[:k], state.vectors, state.active[:k])


@compiled
def opened(vectors: Float64, linear: Float64, l2: float) -> SolverState:
    """A state of these rows (w, d) and their D q − l1 (w,), none of them active."""
    w = len(linear)
    filled = np.zeros(w, dtype=np.intp)
    active = np.zeros(w, dtype=np.intp)
    return SolverState(vectors, np.empty((w, w)), filled, linear, l2, np.zeros((w, w)), active, np.zeros(w))


@compiled
def extended(state: SolverState, k: int, vectors: Float64, linear: Float64) -> SolverState:
    """The state with further rows (m, d), and their D q − l1 (m,); the k active ones stay as they are."""
    old = len(state.linear)
    w = old + len(linear)
    gram, factor = np.empty((w, w)), np.zeros((w, w))
    gram[:old, :old] = state.gram
    factor[:old, :old] = state.factor
    none = np.zeros(len(linear), dtype=np.intp)
    larger = SolverState(
        np.concatenate((state.vectors, vectors)),
        gram,
        np.concatenate((state.filled, none)),
        np.concatenate((state.linear, linear)),
        state.l2,
        factor,
        np.concatenate((state.active, none)),
        np.concatenate((state.z, np.zeros(len(linear)))),
    )
    for position in larger.active[:k]:
        gram_row(larger, position)
    return larger
