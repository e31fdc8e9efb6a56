"""Who goes next, step by step: one batch at a time, nothing concurrent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kitpick_models.batching import Row
from kitpick_service.queue import Job, Schedule
from kitpick_service.ticket import Ticket

BUDGET = 64


def job(rows: int, length: int = 8) -> Job:
    ids = np.ones(length, np.int64)
    return Job([Row(ids, np.zeros_like(ids))] * rows, Ticket("t", 3600), 8)


def served(schedule: Schedule) -> Iterator[Job]:
    """The job that every next batch is for first."""
    while (found := schedule.next_batch())[1]:
        yield found[1][0][0]


def test_a_small_request_overtakes_a_large_one_that_came_before() -> None:
    schedule, large, small = Schedule(BUDGET), job(1_000), job(5, length=16)
    schedule.add(large)
    schedule.next_batch()
    schedule.add(small)
    assert next(served(schedule)) is small


def test_a_large_request_is_not_overtaken_for_ever() -> None:
    """Small ones come as fast as they are done; the large one still ends after twice its own work."""
    schedule, large = Schedule(BUDGET), job(100)
    schedule.add(large)
    batches = 0
    while large.waiting:
        schedule.add(job(4, length=16))
        schedule.next_batch()
        batches += 1
        assert batches <= 2 * 100 * 8 / BUDGET + 2


def test_equal_requests_go_in_the_order_they_came() -> None:
    schedule, jobs = Schedule(BUDGET), [job(8) for _ in range(5)]
    for each in jobs:
        schedule.add(each)
    assert list(served(schedule)) == jobs


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(1, 60)), min_size=1, max_size=12))
def test_a_request_is_done_when_it_was_said_at_the_latest(sizes: list[tuple[int, int]]) -> None:
    """Where nothing comes after it: what is due before it, and itself."""
    schedule, jobs = Schedule(BUDGET), [job(rows, length) for rows, length in sizes]
    for each in jobs[:-1]:
        schedule.add(each)
    last = jobs[-1]
    promised = schedule.until_done(last.waiting)
    schedule.add(last)
    worked = 0
    while last.waiting:
        length, batch = schedule.next_batch()
        assert length * sum(len(rows) for _, rows in batch) <= BUDGET
        worked += length * sum(len(rows) for taken, rows in batch if taken.due <= last.due)
    assert worked <= promised
