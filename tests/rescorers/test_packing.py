from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from toolrank_rescorers.packing import VOCABULARY_VARIABLE, first_fit, token_counter


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
    sizes = token_counter().measure({"a": "", "b": "abc", "c": "abcde"})
    assert (sizes.counter, sizes.tokens) == ("length ÷ 4", {"a": 0, "b": 1, "c": 2})
