"""Renews what a forked child must not share with its parent: connections, threads, and locks.

A fork copies memory, but of the threads only the one that called it. A lock that another thread held stays
locked in the child for ever, a pool of threads takes work that nobody does, and two processes write to one
socket. So the child gets free locks, and makes its own of everything else when it first needs it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")


class Renewable(Protocol):
    """Something that a child cannot use as its parent left it."""

    def renew(self) -> None:
        """Makes it as new. Called in the child, before anything else runs there."""


_RENEWED: weakref.WeakSet[Any] = weakref.WeakSet()
_LOCKS: weakref.WeakSet[Any] = weakref.WeakSet()


def renew_after_fork(holder: Renewable) -> None:
    """Has `renew` of an object called in every child that is forked from now on, for as long as it lives."""
    _RENEWED.add(holder)


def fork_lock() -> threading.Lock:
    """A lock that is free in a forked child, whoever held it in the parent."""
    lock = threading.Lock()
    _LOCKS.add(lock)
    return lock


def _in_child() -> None:
    for lock in list(_LOCKS):
        lock._at_fork_reinit()
    for holder in list(_RENEWED):
        holder.renew()


if hasattr(os, "register_at_fork"):  # where processes cannot fork, nothing is to be renewed
    os.register_at_fork(after_in_child=_in_child)


class OfThisProcess(Generic[T]):
    """A value that every process makes for itself when it first needs it. Safe to use from several threads.

    What a parent made is neither used nor released in a child: releasing it might speak to a server.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        """`make` makes the value; it may raise, and is called again the next time."""
        self.made: T | None = None
        """The value; None where this process did not make it yet."""
        self._make = make
        self._lock = fork_lock()
        self._inherited: list[T] = []
        renew_after_fork(self)

    def renew(self) -> None:
        """Lets the next `get` make it anew; only for the child of a fork."""
        if self.made is not None:
            self._inherited.append(self.made)
        self.made = None

    def get(self) -> T:
        """The value of this process; raises what `make` raises."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made
