"""What a child of a fork gets: free locks, and things of its own."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable

import pytest

from kitpick_foundation import forks
from kitpick_foundation.forks import OfThisProcess, fork_lock, renew_after_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


def in_child(check: Callable[[], bool]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        child = os.fork()
    if not child:
        right = False
        try:
            right = check()
        finally:
            os._exit(0 if right else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_lock_that_another_thread_holds_is_free_in_the_child() -> None:
    lock, held, over = fork_lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        assert in_child(lambda: not lock.locked() and lock.acquire(timeout=5))
        assert lock.locked()
    finally:
        over.set()
        thread.join()
    assert lock.acquire(blocking=False)


def test_a_child_makes_its_own_and_the_parent_keeps_what_it_made() -> None:
    made: list[int] = []

    def make() -> int:
        made.append(os.getpid())
        return os.getpid()

    value = OfThisProcess(make)
    mine = value.get()
    assert in_child(lambda: value.get() == os.getpid() != mine and value.get() == os.getpid())
    assert value.get() == mine
    assert made == [mine]


def test_what_fails_to_be_made_is_tried_again() -> None:
    answers = iter([ValueError("first"), "second"])

    def make() -> str:
        found = next(answers)
        if isinstance(found, ValueError):
            raise found
        return found

    value = OfThisProcess(make)
    with pytest.raises(ValueError, match="first"):
        value.get()
    assert value.get() == "second"


def test_what_is_gone_is_not_renewed() -> None:
    class Holder:
        def renew(self) -> None:
            raise AssertionError

    holder = Holder()
    renew_after_fork(holder)
    del holder
    gc.collect()
    assert in_child(lambda: True)
    assert not [each for each in forks._RENEWED if type(each).__name__ == "Holder"]
