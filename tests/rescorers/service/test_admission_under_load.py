"""Clients that ask one search after the other, in a model of the machine: how many are answered in full.

Time is counted, not measured: what one client gets in full is compared with what 3, 8 and 64 get. While a
search with scores is served, one without them takes its share of the machine, and the other way round.
"""

from __future__ import annotations

import heapq
import itertools
from collections import Counter, deque
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from typing import NamedTuple

import pytest

from kitpick_service.admission import SHARES, Admission, AdmittedSearch, Extent, SearchCosts
from kitpick_service.errors import Overloaded

BASE, PAIR, PAIRS = 0.04, 0.01, 12
DEADLINE, PAUSE = 0.9, 0.02
"""Seconds of a search, and of what its caller's index takes."""
RETRY = 0.01
"""Seconds after which a caller that heeds nothing sends the next, all clients of a node together."""
SECONDS = 120.0


class _Come(NamedTuple):
    """A search with its texts, and when it began."""

    call: ExitStack
    search: AdmittedSearch
    began: float


class Machine:
    """A service of one search at a time in each lane, and its clients, who may heed `Retry-After`."""

    def __init__(self, clients: int, slower: float = 1.0, heeds: bool = False) -> None:
        self.now = 0.0
        self.outcomes: Counter[str] = Counter()
        self._slower = slower
        self._clients = clients
        self._heeds = heeds
        self._admission = Admission(1, SearchCosts(BASE, PAIR), lambda: self.now)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._waiting: dict[Extent, deque[_Come]] = {extent: deque() for extent in Extent}
        self._busy = dict.fromkeys(Extent, False)
        for _ in range(clients):
            self._at(0.0, self._ask)
        while self._events and self.now < SECONDS:
            self.now, _, happens = heapq.heappop(self._events)
            happens()

    @property
    def full(self) -> float:
        """Searches a second that were answered in full and in time."""
        return self.outcomes["full"] / SECONDS

    def _at(self, seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), happens))

    def _ask(self) -> None:
        key, began = next(self._numbers), self.now
        try:
            with self._admission.call(key, True, PAIRS, DEADLINE) as search:
                extent = search.extent
        except Overloaded as refusal:
            self.outcomes["refused"] += 1
            away = refusal.retry_after if self._heeds else None
            self._at(away or max(PAUSE, RETRY * self._clients), self._ask)
            return
        self._at(PAUSE, lambda: self._come(extent, key, began))

    def _come(self, extent: Extent, key: int, began: float) -> None:
        call = ExitStack()
        search = call.enter_context(self._admission.call(key, False, PAIRS, DEADLINE))
        self._waiting[extent].append(_Come(call, search, began))
        self._serve(extent)

    def _serve(self, extent: Extent) -> None:
        if self._busy[extent] or not self._waiting[extent]:
            return
        come = self._waiting[extent].popleft()
        other = Extent.BARE if extent is Extent.FULL else Extent.FULL
        beside = self._busy[other] or self._waiting[other]
        reading = self._slower * (PAIRS * PAIR if extent is Extent.FULL else 0.0)
        share = SHARES[extent] if beside else 1.0
        seconds = (self._slower * BASE + reading) / share
        self._busy[extent] = True
        self._at(seconds, lambda: self._done(come, seconds, reading / share))

    def _done(self, come: _Come, seconds: float, reading: float) -> None:
        extent = come.search.extent
        come.search.spent += seconds
        come.search.answered(PAIRS if reading else 0, reading)
        come.call.close()
        self.outcomes[extent.value if self.now - come.began <= DEADLINE else "late"] += 1
        self._busy[extent] = False
        self._serve(extent)
        self._ask()


@cache
def machine(clients: int, slower: float = 1.0, heeds: bool = False) -> Machine:
    """One whose time is over; no test changes it."""
    return Machine(clients, slower, heeds)


@pytest.mark.parametrize("clients", [3, 8, 64])
def test_many_clients_get_as_much_in_full_as_one(clients: int) -> None:
    one, many = machine(1), machine(clients)
    assert one.outcomes.keys() == {"full"}
    assert many.full >= 0.9 * one.full, many.outcomes
    assert many.outcomes["late"] == 0, "no work is thrown away"


@pytest.mark.parametrize("clients", [3, 8, 64])
def test_so_they_do_where_searches_take_longer_than_the_warm_up_showed(clients: int) -> None:
    """What is thrown away meanwhile is what came before the first answers."""
    one, many = machine(1, slower=1.3), machine(clients, slower=1.3)
    assert many.full >= 0.9 * one.full, many.outcomes
    assert many.outcomes["late"] <= clients


@pytest.mark.parametrize("clients", [8, 64])
def test_clients_that_come_back_when_they_are_told_are_refused_seldom(clients: int) -> None:
    """And as many are served: nobody stays away while there is time for him."""
    one, many, others = machine(1), machine(clients, heeds=True), machine(clients)
    assert many.full >= 0.9 * one.full, many.outcomes
    assert many.outcomes["bare"] >= 0.95 * others.outcomes["bare"]
    assert many.outcomes["refused"] < 0.1 * others.outcomes["refused"]


def test_whoever_is_not_served_in_full_gets_words_and_vectors() -> None:
    found = machine(64).outcomes
    assert found["bare"] >= found["full"] / 2
