"""The active-set method on a Gram matrix: the inner loops of the exact solver.

The state lives in arrays that the caller owns, so that the same code runs compiled. The number k of active
rows is passed along and returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.compiled import compiled
from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.factor import delete, insert, project, solve
from toolrank_rescorers.nnn.kernels import block_product, complete_product, own_products, rows_combination

DEPENDENT = 1e-10
"""A row counts as dependent on the active ones when less than this share of it is left unexplained."""
_INSEPARABLE = 1e-15
_ENTERING = 4
"""Violators added in one round: few are fewest steps, more are fewest rounds."""


class State(NamedTuple):
    """Of w rows, the first k of `active` carry the first k weights of `z`, > 0, in order of entering."""

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
    """Of gram[active, active] + l2 I, as in `factor`, in a (w, w) array."""
    active: Rows
    z: Float64


@compiled
def minimise(state: State, k: int, tolerance: float, max_rounds: int) -> tuple[int, int]:
    """Adds violators and drops what turns negative until none is above the tolerance.

    Returns:
        The new k, and the rounds taken; after `max_rounds` of them violators may remain.
    """
    gram, linear, active, z = state.gram, state.linear, state.active, state.z
    refused = np.zeros(len(linear), dtype=np.bool_)
    k = descend(state, k)
    for done in range(max_rounds):
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
        k = descend(state, k)
        if k == len(before) and (active[:k] == before).all():
            refused = entered
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
def gram_row(state: State, position: int) -> Float64:
    """D_W d_p (w,): completed when a row is looked at, since few of them ever enter."""
    row: Float64 = state.gram[position]
    if state.filled[position] < len(row):
        complete_product(state.vectors, state.filled[position], state.vectors[position], row)
        state.filled[position] = len(row)
    return row


@compiled
def enter(state: State, k: int, position: int, floor: float) -> int:
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
def exchange(state: State, k: int, position: int) -> int:
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
def descend(state: State, k: int) -> int:
    """Moves to the minimiser over the active rows, stopping to drop what would turn negative.

    Solves are refined once against the Gram matrix itself, to working precision. Returns the new k.
    """
    z = state.z
    while k > 0:
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
def drop(state: State, k: int, leaving: NDArray[np.bool_]) -> int:
    """Removes the marked active rows (k,). Returns the new k."""
    for place in np.flatnonzero(leaving)[::-1]:
        delete(state.factor, k, place)
        state.active[place : k - 1] = state.active[place + 1 : k].copy()
        state.z[place : k - 1] = state.z[place + 1 : k].copy()
        k -= 1
    return k


@compiled
def residual_of(state: State, k: int, query: Float64) -> Float64:
    """Residual q − Dᵀz (d,)."""
    return query - rows_combination(state.z[:k], state.vectors, state.active[:k])


@compiled
def opened(vectors: Float64, linear: Float64, l2: float) -> State:
    """A state of these rows (w, d) and their D q − l1 (w,), none of them active."""
    w = len(linear)
    filled = np.zeros(w, dtype=np.intp)
    active = np.zeros(w, dtype=np.intp)
    return State(vectors, np.empty((w, w)), filled, linear, l2, np.zeros((w, w)), active, np.zeros(w))


@compiled
def extended(state: State, k: int, vectors: Float64, linear: Float64) -> State:
    """The state with further rows (m, d), and their D q − l1 (m,); the k active ones stay as they are."""
    old = len(state.linear)
    w = old + len(linear)
    gram, factor = np.empty((w, w)), np.zeros((w, w))
    gram[:old, :old] = state.gram
    factor[:old, :old] = state.factor
    none = np.zeros(len(linear), dtype=np.intp)
    larger = State(
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
