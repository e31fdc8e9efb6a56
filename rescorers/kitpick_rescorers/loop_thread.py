"""An event loop in a thread of its own, for callers in other threads who use the network.

A thread that waits for a socket can bound each wait, but not all of them together: whoever sends a byte now
and then would hold it for ever. A task of an event loop is cancelled at its deadline, wherever it stands.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


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
        """What the coroutine returns or raises. It is cancelled where its caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
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
