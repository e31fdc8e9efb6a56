"""Patience with an iterator: everything that comes in time comes through, in order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from kitpick_ingest.errors import SourceError
from kitpick_ingest.source_reader import impatient


def test_all_items_come_through_in_order() -> None:
    assert list(impatient(iter(range(1_000)), 10, "numbers")) == list(range(1_000))


def test_an_error_comes_through_after_the_items_before_it() -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise KeyError("two")

    items = impatient(broken(), 10, "numbers")

    assert next(items) == 1
    with pytest.raises(KeyError, match="two"):
        next(items)


def test_slow_is_not_hanging() -> None:
    def slow() -> Iterator[int]:
        for number in range(45):
            time.sleep(0.1)
            yield number

    assert list(impatient(slow(), 4, "numbers")) == list(range(45)), "all together take longer than one may"


def test_a_slow_reader_is_not_held_against_the_source() -> None:
    items = impatient(iter(range(3)), 3, "numbers")
    first = next(items)
    time.sleep(3.2)
    assert [first, *items] == [0, 1, 2]


def test_hanging_is_an_error_that_names_the_source() -> None:
    release = threading.Event()

    def hanging() -> Iterator[int]:
        yield 1
        release.wait()

    items = impatient(hanging(), 2.5, "pets")
    assert next(items) == 1
    with pytest.raises(SourceError, match=r"pets: yielded nothing for 2\.5 s"):
        next(items)
    release.set()


def test_the_thread_ends_when_nobody_wants_more() -> None:
    def endless() -> Iterator[int]:
        number = 0
        while True:
            yield (number := number + 1)

    items = impatient(endless(), 10, "numbers")
    next(items)
    items.close()  # type: ignore[attr-defined]

    deadline = time.monotonic() + 60
    while any(thread.name == "kitpick-source" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
