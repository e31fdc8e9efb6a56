"""The best set within a budget: a knapsack solved exactly, by dynamic programming over tokens and number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MAX_CELLS = 60_000_000
"""Items × number × budget up to which the problem is solved: about a second and 60 MB."""


def best_set(
    values: Sequence[float], sizes: Sequence[int], budget: int, count: int
) -> tuple[int, ...] | None:
    """Positions of the items of largest total value, at most `count` of them and at most `budget` in size.

    Of two sets of equal value, the one that holds the earlier items. Values must not be negative.

    Args:
        values: (n,), finite, at least 0.
        sizes: (n,), at least 0.
        budget: How large all of them together may be.
        count: How many, at most.

    Returns:
        Positions in ascending order; None where the problem is larger than `MAX_CELLS`.

    Raises:
        ValueError: another number of values than of sizes, or a negative one of either.
    """
    if len(values) != len(sizes) or min(values, default=0) < 0 or min(sizes, default=0) < 0:
        raise ValueError("one value and one size an item, none of them negative")
    items = [place for place, size in enumerate(sizes) if size <= budget]
    count = max(0, min(count, len(items)))
    top = sorted(items, key=lambda place: (-values[place], place))[:count]
    if sum(sizes[place] for place in top) <= budget:
        return tuple(sorted(top))
    if len(items) * (count + 1) * (budget + 1) > MAX_CELLS:
        return None
    return _traced(_choices(values, sizes, items, budget, count), sizes, items, budget)


def _choices(
    values: Sequence[float], sizes: Sequence[int], items: Sequence[int], budget: int, count: int
) -> NDArray[np.bool_]:
    """Whether an item is taken, (n, count + 1, budget + 1), decided from the last item to the first.

    Entry (i, c, b): with at most c items out of those from i on and b tokens.
    """
    best = np.zeros((count + 1, budget + 1))
    taken = np.zeros((len(items), count + 1, budget + 1), dtype=np.bool_)
    for row in range(len(items) - 1, -1, -1):
        size, value = sizes[items[row]], values[items[row]]
        with_it = best[:-1, : budget + 1 - size] + value
        # At equal value the earlier item is taken, so that the order breaks ties.
        taken[row, 1:, size:] = with_it >= best[1:, size:]
        best[1:, size:] = np.maximum(best[1:, size:], with_it)
    return taken


def _traced(
    taken: NDArray[np.bool_], sizes: Sequence[int], items: Sequence[int], budget: int
) -> tuple[int, ...]:
    left, count, found = budget, taken.shape[1] - 1, []
    for row, place in enumerate(items):
        if taken[row, count, left]:
            found.append(place)
            left, count = left - sizes[place], count - 1
    return tuple(found)
