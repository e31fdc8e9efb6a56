"""Work is shared among threads, answers come back in order."""

from __future__ import annotations

import threading

import pytest

from kitpick_models.batching import Workers


@pytest.mark.parametrize("count", [1, 2, 4])
def test_answers_come_in_the_order_of_the_items(count):
    assert Workers(count).map(lambda n: n * n, list(range(20))) == [n * n for n in range(20)]
    assert Workers(count).map(lambda n: n, []) == []


def test_two_items_run_at_the_same_time():
    meet = threading.Barrier(2, timeout=60)
    assert len(Workers(2).map(lambda _: meet.wait(), [1, 2])) == 2


def test_a_single_item_stays_in_the_caller_s_thread():
    assert Workers(2).map(lambda _: threading.get_ident(), [1]) == [threading.get_ident()]


def test_the_first_failure_is_raised():
    with pytest.raises(ZeroDivisionError):
        Workers(2).map(lambda n: 1 // n, [1, 0, 2])
