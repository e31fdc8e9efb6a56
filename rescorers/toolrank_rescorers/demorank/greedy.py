"""Greedy sequences (Liu et al., 2024, algorithm 1): each next one in view of those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Score = Callable[[Sequence[Sequence[int]]], Sequence[float]]
"""How good each of some sequences of numbers is; higher is better."""


def greedy_sequence(count: int, length: int, score: Score) -> list[int]:
    """Numbers out of 0 … count - 1: first the best alone, then whatever is best behind those chosen.

    Args:
        count: how many there are to choose from.
        length: how many to choose, at most.
        score: asked for all extensions of a step together; of equal ones the first is chosen.
    """
    chosen: list[int] = []
    while len(chosen) < min(length, count):
        rest = [number for number in range(count) if number not in chosen]
        scores = score([[*chosen, number] for number in rest])
        chosen.append(rest[max(range(len(rest)), key=scores.__getitem__)])
    return chosen


def greedy_grades(chosen: Sequence[int], count: int) -> list[float]:
    """Labels of 0 … count - 1: the k chosen ones k … 1 in their order, the rest 0."""
    grades = [0.0] * count
    for label, number in enumerate(reversed(chosen), start=1):
        grades[number] = float(label)
    return grades
