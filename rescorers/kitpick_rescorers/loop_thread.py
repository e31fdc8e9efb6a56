"""An event loop in a thread of its own, for callers in other threads who use the network.

A thread that waits for a socket can bound each wait, but not all of them together: whoever sends a byte now
and then would hold it for ever. A task of an event loop is cancelled at its deadline, wherever it stands.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock

_T = TypeVar("_T")
_Client = TypeVar("_Client")


class LoopThread:
    """Runs coroutines of other threads. Whoever no longer needs it calls `stop`."""

    def __init__(self, name: str, at_last: Callable[[], Awaitable[None]]) -> None:
        """Starts the thread. `at_last` runs on the loop before it ends, and closes what was opened there."""
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._at_last = at_last
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_of_this_process(self) -> bool:
        """Whether its thread is here: a process that was forked has the object alone."""
        return self._process == os.getpid()

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What the coroutine returns or raises. It is cancelled where its caller is interrupted.

        Forks do not wait for it.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            with FORKS_WAIT.outside():
                return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Ends it, and cancels what still runs, without waiting. From any thread, also more than once."""
        if self.is_of_this_process:
            with suppress(RuntimeError):  # it has ended already
                self._loop.call_soon_threadsafe(self._loop.stop)

    def join(self) -> None:
        """Waits until it has ended."""
        if self.is_of_this_process:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._ended())
        finally:
            self._loop.close()

    async def _ended(self) -> None:
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._at_last()


class LoopClient(Generic[_Client]):
    """A client of the network on a loop of its own, for the threads of any process that has this object.

    A process that was forked has the object, but not its thread: it opens a client of its own. The thread
    ends with `close`, or with this object.
    """

    def __init__(
        self, name: str, connect: Callable[[], _Client], disconnect: Callable[[_Client], Awaitable[None]]
    ) -> None:
        """Opens nothing yet. Neither function may hold what holds this object: it would never end."""
        self._name = name
        self._connect = connect
        self._disconnect = disconnect
        self._lock = fork_lock()
        self._started: tuple[_Client, LoopThread] | None = None

    def run(self, work: Callable[[_Client], Coroutine[Any, Any, _T]]) -> _T:
        """What the coroutine for the client returns or raises, see `LoopThread.run`."""
        client, thread = self.start()
        return thread.run(work(client))

    def start(self) -> tuple[_Client, LoopThread]:
        """The client of this process and its thread; raises as `connect` does."""
        with self._lock:
            if self._started is None or not self._started[1].is_of_this_process:
                client = self._connect()
                self._started = client, LoopThread(self._name, partial(self._disconnect, client))
                weakref.finalize(self, self._started[1].stop)
            return self._started

    def close(self) -> None:
        """Closes the client and waits until its thread has ended."""
        if self._started is not None:
            self._started[1].stop()
            self._started[1].join()
