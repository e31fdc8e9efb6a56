"""The active-set method on a Gram matrix: the inner loops of the exact solver.

The state lives in arrays that the caller owns, so that the same code runs compiled. The number k of active
rows is passed along and returned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_rescorers.nnn.compiled import COMPILED, combination, compiled, product
from toolrank_rescorers.nnn.corpus import Float64, Rows
from toolrank_rescorers.nnn.factor import delete, insert, project, solve

DEPENDENT = 1e-10
"""A row counts as dependent on the active ones when less than this share of it is left unexplained."""
_INSEPARABLE = 1e-15
_ENTERING = 1 if COMPILED else 4
"""Violators added in one round: one is fewest steps, several are fewest calls."""


class State(NamedTuple):
    """Of w rows, the first k of `active` carry the first k weights of `z`, > 0, in order of entering."""

    gram: Float64
    """D_W D_Wᵀ (w, w)."""
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
        excess = linear - combination(z[:k], gram[active[:k]])
        excess[active[:k]] = -np.inf
        excess[refused] = -np.inf
        before = active[:k].copy()
        entered = np.zeros(len(linear), dtype=np.bool_)
        for nth in range(_ENTERING):
            position = int(np.argmax(excess))
            if not excess[position] > tolerance:
                break
            excess[position] = -np.inf
            entered[position] = True
            grown = enter(state, k, position, DEPENDENT)
            if grown == k and nth == 0:
                k = exchange(state, k, position)
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
def enter(state: State, k: int, position: int, floor: float) -> int:
    """Makes a row active at weight 0, unless it depends on those that are. Returns the new k."""
    gram, factor = state.gram, state.factor
    projected = project(factor, k, gram[position][state.active[:k]])
    energy = gram[position, position] + state.l2
    pivot = energy - (projected * projected).sum()
    if pivot <= floor * energy:
        return k
    insert(factor, k, projected, pivot)
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
    direction = solve(state.factor, k, state.gram[position][state.active[:k]])
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
        explained = product(state.gram[chosen][:, chosen], target) + state.l2 * target
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
