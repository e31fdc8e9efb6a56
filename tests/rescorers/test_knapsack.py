"""The best set within a budget, against every set there is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.packing import best_set

item = st.tuples(st.integers(0, 20), st.integers(0, 15))


@given(st.lists(item, max_size=9), st.integers(0, 40), st.integers(0, 9))
@settings(deadline=None)
def test_no_other_set_is_better(items: list[tuple[int, int]], budget: int, count: int) -> None:
    values, sizes = [float(value) for value, _ in items], [size for _, size in items]
    found = best_set(values, sizes, budget, count)
    assert found is not None
    assert list(found) == sorted(set(found))
    assert len(found) <= count
    assert sum(sizes[place] for place in found) <= budget
    every = (
        sum(values[place] for place in chosen)
        for number in range(count + 1)
        for chosen in combinations(range(len(items)), number)
        if sum(sizes[place] for place in chosen) <= budget
    )
    assert sum(values[place] for place in found) == max(every)


def test_of_equals_the_earlier_ones_are_taken() -> None:
    assert best_set([1.0, 1.0, 1.0], [5, 5, 5], 10, 3) == (0, 1)
    assert best_set([1.0, 1.0, 1.0], [5, 5, 5], 100, 2) == (0, 1)


def test_one_large_item_gives_way_to_two_that_are_worth_more() -> None:
    assert best_set([1.0, 0.7, 0.6], [100, 50, 50], 100, 5) == (1, 2)


def test_a_problem_too_large_is_not_begun() -> None:
    assert best_set([1.0] * 100, [400_000] * 100, 10_000_000, 50) is None


def test_a_negative_value_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        best_set([-1.0], [1], 1, 1)
