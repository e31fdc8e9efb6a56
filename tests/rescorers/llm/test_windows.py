"""The sliding window: every position is covered, and the result is that of the algorithm read literally."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from kitpick_rescorers.llm.windows import slide, window_starts

SIZES = 40


def read_literally(items: Sequence[int], size: int, step: int, better: dict[int, int]) -> list[int]:
    """RankGPT as the paper tells it: from the end to the front, one window after the other, the head last."""
    order = list(items)
    end = len(order)
    while True:
        start = max(0, end - size)
        window = order[start : start + size]
        order[start : start + size] = sorted(window, key=better.__getitem__)
        if start == 0:
            return order
        end -= step


@pytest.mark.parametrize("size", range(1, SIZES + 1))
def test_every_position_is_covered_for_every_length_and_step(size: int) -> None:
    for count in range(1, 121):
        for step in range(1, size + 1):
            starts = window_starts(count, size, step)
            covered = set().union(*(range(start, min(start + size, count)) for start in starts))
            assert covered == set(range(count))
            assert starts[-1] == 0
            assert starts == sorted(set(starts), reverse=True)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 10, 19, 20, 40])
def test_it_is_the_algorithm_read_literally(size: int) -> None:
    generator = random.Random(size)

    def judge(windows: Sequence[Sequence[int]]) -> Iterable[list[int]]:
        return [sorted(window, key=better.__getitem__) for window in windows]

    for count in range(1, 121):
        items = list(range(count))
        ranks = generator.sample(items, count)
        better = dict(zip(items, ranks, strict=True))
        for step in range(1, size + 1):
            assert slide(items, size, step, judge) == read_literally(items, size, step, better)


@pytest.mark.parametrize("count", [11, 20, 21, 25, 37, 99, 100])
def test_with_a_perfect_judge_the_first_ten_are_perfect(count: int) -> None:
    items = random.Random(count).sample(range(count), count)
    ranked = slide(items, 20, 10, lambda windows: [sorted(window) for window in windows])
    assert ranked[:10] == list(range(10))


def test_windows_that_do_not_overlap_come_together() -> None:
    met: list[int] = []

    def note(windows: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        met.append(len(windows))
        return windows

    assert slide(list(range(60)), 20, 20, note) == list(range(60))
    assert met == [3]
    slide(list(range(60)), 20, 10, note)
    assert met[1:] == [1] * 5


@pytest.mark.parametrize(("size", "step"), [(5, 6), (5, 0), (0, 0)])
def test_a_step_that_would_leave_something_out_is_refused(size: int, step: int) -> None:
    with pytest.raises(ValueError, match="1 ≤ step ≤ size"):
        window_starts(10, size, step)


def test_nothing_is_no_window() -> None:
    assert slide([], 20, 10, lambda windows: windows) == []
