"""Bounds how much is done for one caller at a time: nobody waits for all that another asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio


class CallerTurns:
    """As many at the same time for each caller; further ones wait for those of the same caller."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._limiters: dict[str, anyio.CapacityLimiter] = {}

    @asynccontextmanager
    async def of(self, caller: str) -> AsyncIterator[None]:
        """A context that begins when it is this caller's turn."""
        limiter = self._limiters.setdefault(caller, anyio.CapacityLimiter(self._at_once))
        try:
            async with limiter:
                yield
        finally:
            counts = limiter.statistics()
            if not counts.borrowed_tokens and not counts.tasks_waiting:
                self._limiters.pop(caller, None)
