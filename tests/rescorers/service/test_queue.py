"""The queue of a model: everybody's share, nobody's leftovers. The model here adds token ids, on command."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from waiting import eventually

from kitpick_models.batching import Row
from kitpick_models.settings import RuntimeSettings
from kitpick_service.errors import Cancelled, DeadlinePassed, DoneInPart, Overloaded, Unready
from kitpick_service.queue import ModelQueue
from kitpick_service.ticket import Ticket


class Adding:
    """Answers the sum of a row's ids; waits at `gate` before every batch; fails on one id."""

    def __init__(self, budget: int = 64) -> None:
        self.settings = RuntimeSettings(token_budget=budget)
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.batches: list[tuple[int, list[int]]] = []
        self.forbidden = 13

    def run(self, rows: Sequence[Row], length: int) -> Any:
        self.entered.set()
        assert self.gate.wait(60)
        self.batches.append((length, [int(row.ids.sum()) for row in rows]))
        if any(self.forbidden in row.ids for row in rows):
            raise ValueError(f"the id {self.forbidden} is forbidden")
        return np.array([row.ids.sum() for row in rows], np.float32)


class Observed:
    def __init__(self) -> None:
        self.refusals: list[str] = []
        self.batches = 0

    def batch(self, rows: int, tokens: int, room: int, seconds: float) -> None:
        assert tokens > 0
        self.batches += 1

    def job(self, waited: float, rows: int) -> None:
        assert waited >= 0

    def refused(self, reason: str) -> None:
        self.refusals.append(reason)


class Bench:
    """A queue over an adding model, and threads that ask it."""

    def __init__(self, most_waiting: int = 600_000) -> None:
        self.model, self.observed = Adding(), Observed()
        self.queue = ModelQueue("adding", [self.model], 1, self.observed, most_waiting)
        self.callers = ThreadPoolExecutor(32)

    def ask(self, rows: Sequence[Row], seconds: float = 60, ticket: Ticket | None = None) -> Future[Any]:
        return self.callers.submit(self.queue.run, rows, ticket or Ticket("t", seconds))

    @contextmanager
    def held(self) -> Iterator[None]:
        """The model is busy with a batch of its own and starts no other until the end."""
        self.model.entered.clear()
        self.model.gate.clear()
        busy = self.ask([row(1, 100)])
        assert self.model.entered.wait(60)
        try:
            yield
        finally:
            self.model.gate.set()
            busy.result(60)

    def waits(self, tokens: int) -> None:
        eventually(lambda: self.queue.waiting_tokens == tokens)


def row(length: int, value: int = 1) -> Row:
    ids = np.full(length, value, np.int64)
    return Row(ids, np.zeros_like(ids))


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.model.gate.set()
    made.queue.close()
    made.callers.shutdown()


@settings(max_examples=30, deadline=None)
@given(jobs=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=12), min_size=1, max_size=12))
def test_every_row_gets_its_own_numbers(jobs: list[list[int]]) -> None:
    made = Bench()
    asked = [made.ask([row(length, number + 20) for length in job]) for number, job in enumerate(jobs)]
    for number, (job, answer) in enumerate(zip(jobs, asked, strict=True)):
        assert answer.result(60).tolist() == [length * (number + 20) for length in job]
    assert made.queue.waiting_tokens == 0
    made.queue.close()


def test_rows_of_one_length_share_a_batch_across_requests(bench: Bench) -> None:
    with bench.held():
        first = bench.ask([row(5, 2), row(30, 2)])
        bench.waits(8 + 32)
        second = bench.ask([row(6, 3)])
        bench.waits(8 + 32 + 8)
    assert first.result(60).tolist() == [10, 60]
    assert second.result(60).tolist() == [18]
    assert (8, [10, 18]) in [(length, sorted(sums)) for length, sums in bench.model.batches]


def test_a_batch_holds_no_more_than_its_budget(bench: Bench) -> None:
    bench.ask([row(8)] * 50).result(60)
    assert all(length * len(rows) <= 64 for length, rows in bench.model.batches)


def test_a_short_request_does_not_wait_for_the_whole_of_a_long_one(bench: Bench) -> None:
    with bench.held():
        long = bench.ask([row(32, 2)] * 200)
        bench.waits(200 * 32)
        short = bench.ask([row(16, 3)] * 4)
        bench.waits(200 * 32 + 4 * 16)
    assert short.result(60).tolist() == [48] * 4
    long.result(60)
    order = [rows[0] for _, rows in bench.model.batches]
    assert order.index(48) < len(order) / 3, "it came in the middle of the other's rows"


def test_what_would_be_too_much_is_refused_at_once(bench: Bench) -> None:
    bench = Bench(most_waiting=100)
    with bench.held():
        waiting = bench.ask([row(8)] * 10)
        bench.waits(80)
        with pytest.raises(Overloaded) as refusal:
            bench.ask([row(8)] * 3).result(60)
        assert refusal.value.retry_after is not None
        assert refusal.value.retry_after >= 1
        assert bench.queue.waiting_tokens == 80
    assert len(waiting.result(60)) == 10
    assert bench.observed.refusals == ["overloaded"]
    bench.queue.close()


def test_a_probe_is_taken_whatever_waits_and_goes_first() -> None:
    bench, probe = Bench(most_waiting=100), Ticket("probe", 60)
    probe.probe = True
    with bench.held():
        waiting = bench.ask([row(40, 2), row(40, 2)])
        bench.waits(80)
        with pytest.raises(Overloaded):
            bench.ask([row(40, 3)]).result(60)
        asked = bench.ask([row(40, 4)], ticket=probe)
        bench.waits(120)
    assert asked.result(60).tolist() == [160]
    assert waiting.result(60).tolist() == [80, 80]
    assert bench.model.batches[1][1] == [160], "after the batch that was running"
    bench.queue.close()
    bench.callers.shutdown()


def test_a_request_larger_than_the_limit_is_taken_when_nothing_waits() -> None:
    bench = Bench(most_waiting=100)
    assert len(bench.ask([row(8)] * 100).result(60)) == 100
    bench.queue.close()


def test_nothing_is_begun_for_a_request_whose_deadline_has_passed(bench: Bench) -> None:
    with bench.held():
        late = bench.ask([row(8, 7)], seconds=0.05)
        with pytest.raises(DeadlinePassed):
            late.result(60)
        assert bench.queue.waiting_tokens == 0
    bench.ask([row(8, 2)]).result(60)
    assert all(56 not in rows for _, rows in bench.model.batches)
    assert bench.observed.refusals == ["deadline"]


def test_the_first_rows_are_done_first_whatever_their_length(bench: Bench) -> None:
    lengths = [30, 5, 60, 5, 30, 5, 5]
    bench.ask([row(length) for length in lengths]).result(60)
    assert [length for length, _ in bench.model.batches] == [32, 8, 64]


def test_a_deadline_in_the_middle_leaves_what_was_done(bench: Bench) -> None:
    """The model does the first batch, and starts no other before the deadline."""
    done = threading.Event()
    run = bench.model.run

    def once(rows: Sequence[Row], length: int) -> Any:
        if done.is_set():
            bench.model.gate.clear()
        done.set()
        return run(rows, length)

    bench.model.run = once  # type: ignore[method-assign]
    with pytest.raises(DoneInPart) as stopped:
        bench.ask([row(5, 2), row(30, 2), row(6, 2)], seconds=5).result(60)
    assert np.array_equal(stopped.value.logits, [10, np.nan, 12], equal_nan=True)
    assert bench.observed.refusals == ["deadline"]
    bench.model.run = run  # type: ignore[method-assign]
    bench.model.gate.set()
    assert bench.ask([row(7, 3)]).result(60).tolist() == [21]


def test_a_caller_that_leaves_takes_its_rows_along(bench: Bench) -> None:
    ticket = Ticket("t", 60)
    with bench.held():
        left = bench.ask([row(8, 7)] * 5, ticket=ticket)
        bench.waits(40)
        ticket.cancel()
        with pytest.raises(Cancelled):
            left.result(60)
        bench.waits(0)
    bench.ask([row(8, 2)]).result(60)
    assert all(56 not in rows for _, rows in bench.model.batches)


def test_a_model_that_fails_on_one_request_answers_the_others(bench: Bench) -> None:
    with bench.held():
        bad = bench.ask([row(8, 13)])
        bench.waits(8)
        good = bench.ask([row(8, 2)])
        bench.waits(16)
    assert good.result(60).tolist() == [16]
    with pytest.raises(ValueError, match="the id 13"):
        bad.result(60)
    assert bench.ask([row(8, 3)]).result(60).tolist() == [24]


def test_a_queue_that_closes_finishes_what_waits_and_takes_no_more(bench: Bench) -> None:
    with bench.held():
        waiting = bench.ask([row(8, 2)])
        bench.waits(8)
        closing = threading.Thread(target=bench.queue.close)
        closing.start()
    assert waiting.result(60).tolist() == [16]
    closing.join(60)
    with pytest.raises(Unready):
        bench.queue.run([row(8)], Ticket("t", 60))


def test_a_queue_that_was_warmed_up_knows_its_speed_before_anybody_asks(bench: Bench) -> None:
    assert bench.queue.speed == 0
    bench.queue.warm_up(longest=30, seconds=60)
    assert [(length, len(sums)) for length, sums in bench.model.batches] == 2 * [(8, 8), (16, 4), (32, 2)]
    assert bench.queue.speed > 0
    assert bench.observed.batches == 0, "metrics tell of requests only"


def test_a_queue_says_for_how_long_it_has_work(bench: Bench) -> None:
    bench.queue.warm_up(32, 60)
    assert bench.queue.waiting_seconds == 0
    with bench.held():
        waiting = bench.ask([row(8)] * 10)
        bench.waits(80)
        assert bench.queue.waiting_seconds == pytest.approx(80 / bench.queue.speed)
    waiting.result(60)
    assert bench.queue.waiting_seconds == 0


def test_no_pass_begins_after_the_time_for_warming_up(bench: Bench) -> None:
    bench.queue.warm_up(longest=30, seconds=0)
    assert bench.model.batches == []


def test_a_model_that_fails_while_it_is_warmed_up_is_told_of(bench: Bench) -> None:
    bench.model.forbidden = 0
    with pytest.raises(ValueError, match="forbidden"):
        bench.queue.warm_up(longest=8, seconds=60)


def test_no_rows_are_answered_without_the_model(bench: Bench) -> None:
    assert len(bench.queue.run([], Ticket("t", 60))) == 0
    assert bench.model.batches == []
