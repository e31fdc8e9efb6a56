"""The sliding window of RankGPT (Sun et al., 2023, section 3.2): from the back of a list to its head."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
RankWindows = Callable[[Sequence[Sequence[Item]]], Iterable[Sequence[Item]]]
"""Takes windows that share no position, and returns each in its new order."""


def window_starts(count: int, size: int, step: int) -> list[int]:
    """Where the windows begin, in the order they are ranked: the last one first, 0 last.

    The window at the head is as long as the others, so that it overlaps more where `step` does not divide.

    Raises:
        ValueError: not 1 ≤ step ≤ size: a larger step would leave positions that no window sees.
    """
    if not 1 <= step <= size:
        raise ValueError(f"a step of {step} with windows of {size}: take 1 ≤ step ≤ size")
    if count <= 0:
        return []
    return [*range(count - size, 0, -step), 0]


def slide(items: Sequence[Item], size: int, step: int, rank: RankWindows[Item]) -> list[Item]:
    """One pass over the list. Each window is ranked as the one before has left it.

    What is best can rise from the end to the head as long as it is among the first `size - step` of every
    window. Windows that cannot influence each other (`step` = `size`) are handed over together.

    Args:
        items: in the order of the earlier ranking.
        size: Length of a window, at least 1; a shorter list is one window.
        step: How far the window moves, 1 to `size`.
        rank: Orders windows.

    Raises:
        ValueError: a step out of range.
    """
    order = list(items)
    for group in _independent(window_starts(len(order), size, step), size):
        windows = [order[start : start + size] for start in group]
        for start, ranked in zip(group, rank(windows), strict=True):
            order[start : start + size] = ranked
    return order


def _independent(starts: Sequence[int], size: int) -> list[list[int]]:
    """Runs of windows of which no two overlap."""
    groups: list[list[int]] = []
    for start in starts:
        if groups and groups[-1][-1] - start >= size:
            groups[-1].append(start)
        else:
            groups.append([start])
    return groups
