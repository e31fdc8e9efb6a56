"""Remembers what searches of a conversation found, and turns calls of these tools into feedback.

A reference holds no more than a name, so the id of the answer behind it is remembered here, by the id that
the provider gave the call of the search. A tool that is called belongs to the latest search of its
conversation that found it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Container, Iterable, Sequence

from kitpick.capabilities import Steps
from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_foundation.errors import KitpickError
from kitpick_foundation.forks import fork_lock

MAX_SEARCHES = 1_000
"""How many searches are remembered: the latest. Without a file of answers, a catalog remembers as many."""
_log = logging.getLogger(__name__)


class _Found:
    """One answer of a search, and which of its tools were called."""

    def __init__(self, answer: str, shown: frozenset[str]) -> None:
        self.answer = answer
        self.shown = shown
        self.called: set[str] = set()
        self.succeeded = False
        """Whether one of the calls did."""


class FoundTools:
    """Reports to a catalog how found tools did. Safe to use from several threads."""

    def __init__(self, catalog: Catalog, filter: Filter) -> None:  # noqa: A002
        self._catalog = catalog
        self._filter = filter
        self._lock = fork_lock()
        self._searches: OrderedDict[str, tuple[_Found, ...]] = OrderedDict()

    def remember(self, search: str, steps: Steps, known: Container[str]) -> None:
        """Keeps what a search found, by the id of its call, of the tools that a model can be given."""
        found = [
            _Found(step.result.id, frozenset(hit.id for hit in step.hits if hit.id in known))
            for step in steps.steps
            if step.result.id
        ]
        with self._lock:
            self._searches[search] = tuple(found)
            self._searches.move_to_end(search)
            if len(self._searches) > MAX_SEARCHES:
                self._searches.popitem(last=False)

    def tell(self, client: str | None, api: str, searches: Sequence[str], *, failed: bool) -> None:
        """Reports how one call ended; nothing without a client, or if none of these searches found the tool.

        `searches` are ids of the calls of the search before it in the conversation, the oldest first.
        """
        found = next((found for found in self._of(reversed(searches)) if api in found.shown), None)
        if found is None:
            return
        found.called.add(api)
        found.succeeded |= not failed
        if client is not None:
            self._say(client, found, **{"failed" if failed else "chosen": [api]})

    def finish(self, client: str, searches: Iterable[str]) -> int:
        """Reports which found tools were not needed: those never called, beside one that did its job.

        Where no call succeeded, nothing is known about the others, and nothing is said.

        Returns:
            How many ids were remembered.
        """
        stored = 0
        for found in self._of(searches):
            idle = sorted(found.shown - found.called)
            if found.succeeded and idle:
                stored += self._say(client, found, not_needed=idle)
        return stored

    def _say(self, client: str, found: _Found, **outcome: list[str]) -> int:
        """How many ids were remembered. Feedback that cannot be stored is logged: nothing fails for it."""
        try:
            return self._catalog.feedback(found.answer, client=client, filter=self._filter, **outcome)
        except KitpickError as error:
            _log.warning("feedback on %s was lost: %s", outcome, error)
            return 0

    def _of(self, searches: Iterable[str]) -> list[_Found]:
        with self._lock:
            return [found for search in searches for found in self._searches.get(search, ())]
