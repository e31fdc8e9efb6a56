"""Forks wait for work under way, as long as they should and no longer."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from kitpick_foundation import fork_gate
from kitpick_foundation.fork_gate import FORKS_WAIT, LONGEST_WAIT, ForkGate
from tests.foundation.test_forks import in_child

NO_LIMIT = 600.0
"""Seconds: longer than any test runs."""
LONG = 60.0
"""Seconds: longer than what is inside here takes on a slow machine."""


def wait_until(met: Callable[[], object]) -> None:
    while not met():
        time.sleep(0.001)


@contextmanager
def in_thread(work: Callable[[], object]) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A clock that goes on when the gate sleeps."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    clock.sleep = lambda seconds: setattr(clock, "now", clock.now + seconds)
    monkeypatch.setattr(fork_gate, "time", clock)
    return clock


def test_a_fork_waits_until_a_thread_has_left_which_may_enter_again_meanwhile() -> None:
    gate, order, entered = ForkGate(NO_LIMIT), list[str](), threading.Event()

    def work() -> None:
        with gate:
            entered.set()
            wait_until(lambda: gate.closed)
            with gate:
                order.append("entered again")
            order.append("left")

    with in_thread(work):
        entered.wait()
        gate.before_fork()
        order.append("forked")
        gate.after_in_parent()
    assert order == ["entered again", "left", "forked"]


def test_threads_that_work_for_somebody_inside_join_while_a_fork_waits() -> None:
    gate, order, entered = ForkGate(NO_LIMIT), list[str](), threading.Event()

    def help_out() -> None:
        gate.join()
        order.append("helped")
        gate.leave()

    def work() -> None:
        with gate, ThreadPoolExecutor(1) as pool:
            entered.set()
            wait_until(lambda: gate.closed)
            pool.submit(help_out).result()

    with in_thread(work):
        entered.wait()
        gate.before_fork()
        order.append("forked")
        gate.after_in_parent()
    assert order == ["helped", "forked"]


def test_nobody_enters_before_the_fork_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    gate, order, waits, sleep = ForkGate(), list[str](), threading.Event(), time.sleep
    watched = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: (waits.set(), sleep(seconds)))
    monkeypatch.setattr(fork_gate, "time", watched)

    @gate
    def work() -> None:
        order.append("entered")

    gate.before_fork()
    with in_thread(work):
        waits.wait()
        order.append("over")
        gate.after_in_parent()
    assert order == ["over", "entered"]
    assert not gate.occupied


def test_a_fork_waits_no_longer_than_its_bound(clock: SimpleNamespace) -> None:
    gate, entered, over = ForkGate(), threading.Event(), threading.Event()

    def work() -> None:
        with gate:
            entered.set()
            over.wait()

    with in_thread(work):
        entered.wait()
        gate.before_fork()
        over.set()
    assert LONGEST_WAIT <= clock.now < LONGEST_WAIT + 1


def test_a_fork_does_not_wait_for_its_own_thread(clock: SimpleNamespace) -> None:
    gate = ForkGate()
    with gate, gate:
        gate.before_fork()
        with gate:  # whoever forks may search in a hook of the fork
            pass
        gate.after_in_parent()
        assert gate.occupied
    assert not gate.occupied
    assert clock.now == 0


def test_threads_that_fork_from_inside_do_not_wait_for_one_another() -> None:
    gate, both, forked = ForkGate(NO_LIMIT), threading.Barrier(2), list[int]()

    def work() -> None:
        with gate:
            both.wait()
            gate.before_fork()
            forked.append(threading.get_ident())
            both.wait()
            gate.after_in_parent()

    with in_thread(work), in_thread(work):
        pass
    assert len(set(forked)) == 2
    assert not gate.closed
    assert not gate.occupied


def test_a_fork_does_not_wait_for_a_thread_that_waits_for_a_server(clock: SimpleNamespace) -> None:
    gate, waiting, over = ForkGate(), threading.Event(), threading.Event()
    deep: list[bool] = []

    def work() -> None:
        with gate:
            with gate, gate.outside():
                waiting.set()
                over.wait()
            deep.append(gate.occupied)

    with in_thread(work):
        waiting.wait()
        gate.before_fork()
        gate.after_in_parent()
        over.set()
    assert deep == [True]
    assert clock.now == 0
    assert not gate.occupied


def test_a_fork_does_not_wait_for_whoever_uses_an_item_of_an_iterator() -> None:
    gate = ForkGate()
    inside: list[bool] = []

    def items() -> Iterator[int]:
        for number in range(3):
            inside.append(gate.occupied)
            yield number

    assert [(item, gate.occupied) for item in gate.one_by_one(items())] == [(n, False) for n in range(3)]
    assert inside == [True] * 3
    assert not gate.occupied


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_finds_no_lock_held_that_a_thread_took_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORKS_WAIT, "longest_wait", LONG)
    lock, entered = threading.Lock(), threading.Event()

    def work() -> None:
        with FORKS_WAIT, lock, ThreadPoolExecutor(1) as pool:
            entered.set()
            wait_until(lambda: FORKS_WAIT.closed)
            pool.submit(int).result()  # takes a lock that a fork takes as well

    with in_thread(work):
        entered.wait()
        assert in_child(lambda: not lock.locked() and not FORKS_WAIT.closed and not FORKS_WAIT.occupied)
    assert not FORKS_WAIT.closed


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_that_is_forked_inside_is_inside_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FORKS_WAIT, "longest_wait", 0.0)
    entered, over = threading.Event(), threading.Event()

    def work() -> None:
        with FORKS_WAIT:
            entered.set()
            over.wait()

    def left_in_child() -> bool:
        FORKS_WAIT.leave()
        return not FORKS_WAIT.occupied

    with in_thread(work):
        entered.wait()
        with FORKS_WAIT:
            assert in_child(left_in_child)
            assert FORKS_WAIT.occupied
        over.set()
    assert not FORKS_WAIT.closed
