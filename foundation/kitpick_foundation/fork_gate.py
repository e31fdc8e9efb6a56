"""Forks wait for work under way: no child finds a lock held that only a thread of its parent could free.

A fork copies memory, but of the threads only the one that called it. SQLite, tokenizers, onnxruntime, BLAS,
imports and Python's own library have locks that nobody can free in a child. Whatever may hold one of them
runs inside `FORKS_WAIT`. A fork waits until nobody is inside; meanwhile nobody enters.

A fork waits `LONGEST_WAIT` at most. So a thread that forks while a search needs this very thread, such as the
thread of an event loop, is late and not stuck. What is still inside then may hold a lock, and a child that
needs this lock hangs. A fork never waits for its own thread, nor for threads that are forking themselves.

Enter before taking any lock: who holds one while waiting to enter keeps those inside from leaving.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401 - it and logging take locks at a fork, which must come after the wait
import logging  # noqa: F401
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import ParamSpec, TypeVar

LONGEST_WAIT = 5.0
"""Seconds that a fork waits for work under way."""
_LOOK_AGAIN = 0.001
"""Seconds between two looks of whoever waits."""

P = ParamSpec("P")
T = TypeVar("T")


class ForkGate:
    """A context of work that no fork may interrupt, and a decorator of functions that do such work.

    Any thread may enter, also more than once. There is no lock: each step changes one entry of a dictionary
    or of a set, and whoever enters and whoever forks first says so and then looks for the other.
    """

    def __init__(self, longest_wait: float = LONGEST_WAIT) -> None:
        self.longest_wait = longest_wait
        """Seconds that a fork waits."""
        self._inside: dict[int, int] = {}
        """Thread → how many times it has entered."""
        self._forking: set[int] = set()

    @property
    def closed(self) -> bool:
        """Whether a thread is forking."""
        return bool(self._forking)

    @property
    def occupied(self) -> bool:
        """Whether a thread is inside."""
        return bool(self._inside)

    def __enter__(self) -> None:
        me = get_ident()
        entered = self._inside.get(me, 0)
        self._inside[me] = entered + 1
        while self._forking and not entered and me not in self._forking:
            del self._inside[me]
            time.sleep(_LOOK_AGAIN)
            self._inside[me] = 1

    def __exit__(self, *_: object) -> None:
        self.leave()

    def __call__(self, work: Callable[P, T]) -> Callable[P, T]:
        """The function, inside."""

        @wraps(work)
        def inside(*args: P.args, **kwargs: P.kwargs) -> T:
            with self:
                return work(*args, **kwargs)

        return inside

    def join(self) -> None:
        """Enters without waiting: for a thread that may work for somebody who is inside. Then `leave`."""
        me = get_ident()
        self._inside[me] = self._inside.get(me, 0) + 1

    def leave(self) -> None:
        """Takes back one entry of this thread."""
        me = get_ident()
        left = self._inside.get(me, 1) - 1
        if left:
            self._inside[me] = left
        else:
            self._inside.pop(me, None)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Lets forks go on meanwhile: for a thread that does nothing but wait for a server."""
        me = get_ident()
        entered = self._inside.pop(me, 0)
        try:
            yield
        finally:
            if entered:
                self.__enter__()
                self._inside[me] = entered

    def one_by_one(self, items: Iterable[T]) -> Iterator[T]:
        """Takes each item inside; what the caller does with it is outside."""
        iterator = iter(items)
        while True:
            with self:
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item

    def before_fork(self) -> None:
        """Closes the gate, and waits until all others are out."""
        self._forking.add(get_ident())
        until = time.monotonic() + self.longest_wait
        while self._somebody_works() and time.monotonic() < until:
            time.sleep(_LOOK_AGAIN)

    def after_in_parent(self) -> None:
        """Opens the gate, unless another thread forks as well."""
        self._forking.discard(get_ident())

    def after_in_child(self) -> None:
        """Opens the gate, and forgets the threads that are not in this process."""
        me = get_ident()
        entered = self._inside.get(me, 0)
        self._inside = {me: entered} if entered else {}
        self._forking = set()

    def _somebody_works(self) -> bool:
        return any(thread not in self._forking for thread in list(self._inside))


FORKS_WAIT = ForkGate()
"""The gate of this process."""

if hasattr(os, "register_at_fork"):  # where processes cannot fork, nothing is to be waited for
    os.register_at_fork(
        before=FORKS_WAIT.before_fork,
        after_in_parent=FORKS_WAIT.after_in_parent,
        after_in_child=FORKS_WAIT.after_in_child,
    )
