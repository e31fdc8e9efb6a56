"""Admits whole searches, by what each will cost and what is promised already, and gives them turns.

A search of `POST /v1/search` has several calls, and its model work comes with the last one. So the first call
decides whether there will be time for the cross-encoder: until it ends, an admitted search counts with its
full cost, also while its caller reads the index. Searches for which the cross-encoder has no time are ranked
without scores (`Extent`). Each extent has its lane and its share of the machine, and a lane serves its
searches in the order in which they came: the earliest is finished while the others wait, so that not all of
them are half done at the deadline.

This decides only how much is done for a search, never what it asks for: another copy of the service, or a
restarted one, decides again at any call.
"""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import chain

from kitpick_service.errors import Overloaded
from kitpick_service.ticket import Ticket


class Extent(Enum):
    """How much is done for a search."""

    FULL = "full"
    BARE = "bare"
    """Everything but the cross-encoder."""


SHARES = {Extent.FULL: 0.85, Extent.BARE: 0.15}
"""Share of the machine that each extent gets while searches of both wait; no more is promised to it."""
_MEMORY = 0.2
"""Weight of the last search in what searches cost."""
_AWAY_SECONDS = 5.0
"""Seconds after which a search whose caller does not come back is forgotten."""
_MOST_BOOKED_SECONDS = 10.0
"""Nobody is told to stay away for longer: those who were told before may never come back."""
_LOOK_SECONDS = 0.05
"""Seconds after which a waiting search checks whether its answer is still wanted."""

Clock = Callable[[], float]


class SearchCosts:
    """Seconds that searches take while they are served: of all but pairs, and of a pair.

    The first values come from the warm-up, the later ones from the searches that were answered.
    """

    def __init__(self, base: float = 0.0, pair: float = 0.0) -> None:
        self.base = base
        self.pair = pair

    def of(self, pairs: int) -> float:
        """Seconds of a search of which the cross-encoder reads so many pairs."""
        return self.base + pairs * self.pair

    def note(self, seconds: float, pairs: int, reading: float) -> None:
        """A search was served in so many seconds, `reading` of them for this many pairs."""
        self.base = _moved(self.base, max(0.0, seconds - reading))
        if pairs:
            self.pair = _moved(self.pair, reading / pairs)


def _moved(known: float, seen: float) -> float:
    return known + _MEMORY * (seen - known) if known else seen


class AdmittedSearch:
    """A search that is under way, and what is promised to it. Guarded by the lock of the admission."""

    def __init__(self, number: int, extent: Extent, pairs: int, cost: float, owner: str = "") -> None:
        self.number = number
        """Its place in the order of service."""
        self.owner = owner
        """Name of the key that asked."""
        self.extent = extent
        self.pairs = pairs
        """That the cross-encoder would read for it."""
        self.cost = cost
        self.spent = 0.0
        """Seconds that it was served so far."""
        self.kept_until: float | None = None
        """When it is forgotten, unless its caller comes back; None while a call is under way."""
        self.over = False
        """Whether it was answered or failed."""
        self.read: tuple[int, float] | None = None
        """Once it is answered: pairs that the cross-encoder read, and seconds that this took."""

    def answered(self, pairs: int, reading: float) -> None:
        """Its ranking is made, with so many pairs read in so many seconds."""
        self.over, self.read = True, (pairs, reading)

    @property
    def open(self) -> float:
        """Seconds of its work that are not done yet."""
        return max(0.0, self.cost - self.spent)


class Admission:
    """The searches under way, `width` with scores served at a time. Safe to use from several threads."""

    def __init__(self, width: int, costs: SearchCosts, clock: Clock = time.perf_counter) -> None:
        self.costs = costs
        self._widths = {Extent.FULL: width, Extent.BARE: 1}
        self._clock = clock
        self._changed = threading.Condition()
        self._searches: dict[Hashable, list[AdmittedSearch]] = {}
        self._last = 0
        self._waiting: dict[Extent, list[int]] = {extent: [] for extent in Extent}
        self._serving = dict.fromkeys(Extent, 0)
        self._rests_until = 0.0
        """Until then no search without scores is begun beside one with them."""
        self._booked_until = -math.inf
        """Until then those who were turned away fill the machine, if all come back when they were told to."""

    def turn_away(self, left: float, pairs: int | None = None, owner: str = "") -> None:
        """Refuses a new search that `call` would refuse; it costs next to nothing.

        Args:
            left: seconds until its deadline.
            pairs: that the cross-encoder would read for it. None where that is not known: then it is refused
                only if `call` would refuse it however few they are.
            owner: name of the key that asks.

        Raises:
            Overloaded: there is no time for it.
        """
        with self._changed:
            self._forget()
            if pairs is not None:
                self._extent(pairs, left, owner)
            elif not any(self._fits(extent, self.costs.base, left, owner) for extent in Extent):
                raise self._refusal(left)

    @contextmanager
    def call(
        self, key: Hashable, first: bool, pairs: int, left: float, owner: str = ""
    ) -> Iterator[AdmittedSearch]:
        """A context for one call of a search: a new one at its first call, and where it is not known.

        `key` is equal for the calls of one search; the others are those of `turn_away`.

        Raises:
            Overloaded: it could not be answered in time, not even without scores. Nothing was done for it.
        """
        search = self._found(key, first, pairs, left, owner)
        try:
            yield search
        except BaseException:
            search.over = True
            raise
        finally:
            self._leave(key, search, left)

    @contextmanager
    def serving(self, search: AdmittedSearch, ticket: Ticket) -> Iterator[None]:
        """A context in which the search is served; those of its extent that came before it go first.

        Raises:
            Overloaded: its turn did not come while there was time for an answer without scores.
            Cancelled, DeadlinePassed, Unready: nobody wants the answer any more.
        """
        with ticket.waking(threading.Event()):
            self._take_turn(search, ticket)
        started = self._clock()
        try:
            yield
        finally:
            self._give_turn(search, self._clock() - started)

    def can_read(self, search: AdmittedSearch, pairs: int, left: float) -> bool:
        """Whether half of so many pairs can be read in so many seconds: fewer are better left unread.

        The only search tries it in any case: should pairs have been measured in a bad moment, it shows what
        they take now.
        """
        if search.extent is Extent.BARE:
            return False
        with self._changed:
            alone = self._serving[Extent.FULL] <= 1 and not self._waiting[Extent.FULL]
        return alone or self.costs.pair * pairs / 2 <= left

    def ahead(self, extent: Extent) -> float:
        """Seconds of work that are promised to searches of this extent."""
        with self._changed:
            self._forget()
            return self._ahead(extent)

    def _found(self, key: Hashable, first: bool, pairs: int, left: float, owner: str) -> AdmittedSearch:
        with self._changed:
            self._forget()
            known = self._searches.get(key, [])
            search = known[-1] if known and not first else self._new(key, pairs, left, owner)
            search.kept_until = None
            return search

    def _new(self, key: Hashable, pairs: int, left: float, owner: str) -> AdmittedSearch:
        extent = self._extent(pairs, left, owner)
        cost = self.costs.of(pairs if extent is Extent.FULL else 0)
        self._last += 1
        search = AdmittedSearch(self._last, extent, pairs, cost, owner)
        self._searches.setdefault(key, []).append(search)
        return search

    def _extent(self, pairs: int, left: float, owner: str) -> Extent:
        """What there is time for; the only search gets all that its deadline allows."""
        if self._fits(Extent.FULL, self.costs.of(pairs), left, owner):
            return Extent.FULL
        if pairs and self._fits(Extent.BARE, self.costs.base, left, owner):
            return Extent.BARE
        raise self._refusal(left)

    def _refusal(self, left: float) -> Overloaded:
        """Why there is no time, and when there will be: later for each that is turned away."""
        seconds = min(self._ahead(extent) / SHARES[extent] for extent in Extent)
        now = self._clock()
        booked = max(self._booked_until, now + seconds) + self.costs.base / SHARES[Extent.BARE]
        self._booked_until = min(booked, now + _MOST_BOOKED_SECONDS)
        what = f"searches under way take {seconds:.1f} s more, {left:.1f} s left"
        return Overloaded(what, max(seconds, self._booked_until - now))

    def _fits(self, extent: Extent, cost: float, left: float, owner: str) -> bool:
        ahead = self._ahead(extent, owner, left)
        return not ahead or (ahead + cost) / SHARES[extent] <= left

    def _ahead(self, extent: Extent, owner: str | None = None, left: float = math.inf) -> float:
        """Seconds that are promised; for an owner, as far as they keep it from being answered in time.

        What is promised to another owner's searches that are away takes half of that time at most: nobody
        keeps others out by searches that never go on.
        """
        promised: defaultdict[str | None, float] = defaultdict(float)
        for each in chain.from_iterable(self._searches.values()):
            if each.extent is extent:
                counts_whole = each.kept_until is None or each.owner == owner
                promised[None if counts_whole else each.owner] += each.open
        whole, most = promised.pop(None, 0.0), SHARES[extent] * left * self._widths[extent] / 2
        return (whole + sum(min(each, most) for each in promised.values())) / self._widths[extent]

    def _leave(self, key: Hashable, search: AdmittedSearch, left: float) -> None:
        with self._changed:
            search.kept_until = self._clock() + min(left, _AWAY_SECONDS)
            if search.over:
                self._drop(key, search)
            if search.read is not None:
                self.costs.note(search.spent, *search.read)

    def _forget(self) -> None:
        now = self._clock()
        for key, searches in tuple(self._searches.items()):
            for each in tuple(searches):
                if each.kept_until is not None and each.kept_until <= now:
                    self._drop(key, each)

    def _drop(self, key: Hashable, search: AdmittedSearch) -> None:
        searches = self._searches.get(key, [])
        if search in searches:
            searches.remove(search)
        if not searches:
            self._searches.pop(key, None)

    def _take_turn(self, search: AdmittedSearch, ticket: Ticket) -> None:
        waiting = self._waiting[search.extent]
        with self._changed:
            waiting.append(search.number)
            try:
                while not self._is_next(search):
                    self._require_time(ticket)
                    self._changed.wait(_LOOK_SECONDS)
                self._serving[search.extent] += 1
            finally:
                waiting.remove(search.number)
                self._changed.notify_all()

    def _is_next(self, search: AdmittedSearch) -> bool:
        extent = search.extent
        free = self._serving[extent] < self._widths[extent]
        return free and search.number == min(self._waiting[extent]) and not self._rests(extent)

    def _rests(self, extent: Extent) -> bool:
        """Whether searches of this extent have had their share, and others need the machine."""
        beside = self._serving[Extent.FULL] or self._waiting[Extent.FULL]
        return extent is Extent.BARE and bool(beside) and self._clock() < self._rests_until

    def _require_time(self, ticket: Ticket) -> None:
        lapsed = ticket.lapsed()
        if lapsed is not None:
            raise lapsed
        if ticket.left < self.costs.base:
            raise Overloaded("searches that came before it took longer than expected", self.costs.base)

    def _give_turn(self, search: AdmittedSearch, seconds: float) -> None:
        with self._changed:
            search.spent += seconds
            self._serving[search.extent] -= 1
            if search.extent is Extent.BARE:
                self._rests_until = self._clock() + seconds * (1 / SHARES[Extent.BARE] - 1)
            self._changed.notify_all()
