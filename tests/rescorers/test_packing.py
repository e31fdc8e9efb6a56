from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.packing import VOCABULARY_VARIABLE, best_fit, first_fit, token_counter


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.integers(0, 50)), st.integers(0, 200))
def test_the_budget_holds_and_whatever_is_left_out_would_break_it(sizes, budget):
    kept = first_fit(sizes, sizes, budget)
    assert sum(sizes[key] for key in kept) <= budget
    order = list(sizes)
    for left_out in sizes.keys() - set(kept):
        before = [key for key in kept if order.index(key) < order.index(left_out)]
        assert sum(sizes[key] for key in before) + sizes[left_out] > budget


def test_nothing_is_downloaded_unasked_and_the_counter_is_named(monkeypatch):
    monkeypatch.delenv(VOCABULARY_VARIABLE, raising=False)
    counter = token_counter()
    assert counter.name == "length ÷ 4"
    assert [counter.count(text) for text in ("", "abc", "abcde")] == [0, 1, 2]


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=3), st.integers(0, 50), max_size=9),
    st.integers(0, 120),
    st.integers(0, 9),
)
def test_the_best_set_is_worth_at_least_what_fits_first(sizes, budget, count):
    order = list(sizes)
    worth = {key: rank**-1.5 for rank, key in enumerate(order, start=1)}
    best, first = best_fit(order, sizes, budget, count), first_fit(order, sizes, budget)[:count]
    assert sum(sizes[key] for key in best) <= budget
    assert len(best) <= count
    assert sum(worth[key] for key in best) >= sum(worth[key] for key in first) - 1e-9
    assert best == [key for key in order if key in best]


def test_a_set_too_large_to_be_exact_is_the_first_fit():
    sizes = {str(number): 3_000_000 for number in range(60)}
    assert best_fit(list(sizes), sizes, 9_000_000, 50) == ["0", "1", "2"]
