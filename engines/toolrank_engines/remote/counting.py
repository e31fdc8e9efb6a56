"""What the server counted of one committed state, kept: it never changes, and counting takes time.

How many documents a filter shows, how many words they have, and how many of them hold a term: these numbers
are asked for once for each state and filter, and are never part of an answer to another filter.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from toolrank_engines.contract import Filter
from toolrank_engines.lexical.words import FIELDS
from toolrank_engines.remote.reading import Live
from toolrank_engines.remote.server import Json

_FILTERS = 256
_TERMS = 20_000


class Counts(NamedTuple):
    """Numbers of the documents that one filter shows of one state."""

    documents: int = 0
    words: tuple[float, ...] = ()
    """Sums by field, in the order of `FIELDS`; empty before anything was counted."""
    holders: dict[str, int] = {}  # noqa: RUF012 - never changed, only replaced
    """Documents that hold a term."""

    def missing(self, terms: Sequence[str]) -> list[str]:
        """Terms that were not counted yet."""
        return [term for term in terms if term not in self.holders]

    def question(self, terms: Sequence[str], shown: Json) -> Json | None:
        """Search that counts what is missing for these terms, None where nothing is."""
        uncounted = self.missing(terms)
        if self.words and not uncounted:
            return None
        totals = {} if self.words else {name: {"sum": {"field": f"lengths.{name}"}} for name in FIELDS}
        filters = {str(number): {"term": {"words": term}} for number, term in enumerate(uncounted)}
        holders: Json = {"holders": {"filters": {"filters": filters}}} if filters else {}
        return {"size": 0, "track_total_hits": True, "query": shown, "aggs": {**totals, **holders}}

    def with_answer(self, terms: Sequence[str], answer: Json) -> Counts:
        """These numbers and those of the answer to `question` for the same terms."""
        counted = answer["aggregations"]
        holders = dict(self.holders)
        for number, term in enumerate(self.missing(terms)):
            holders[term] = int(counted["holders"]["buckets"][str(number)]["doc_count"])
        if self.words:
            return self._replace(holders=holders)
        words = tuple(float(counted[name]["value"]) for name in FIELDS)
        return Counts(int(answer["hits"]["total"]["value"]), words, holders)

    def bounded(self) -> Counts:
        """As it is kept: without terms where they have become too many."""
        return self if len(self.holders) <= _TERMS else self._replace(holders={})


class CountCache:
    """The counts of the states and filters that were asked for last. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Live, Filter], Counts] = OrderedDict()

    def known(self, live: Live, wanted: Filter) -> Counts:
        """What was counted of a state and a filter so far."""
        with self._lock:
            return self._kept.get((live, wanted), Counts())

    def keep(self, live: Live, wanted: Filter, counts: Counts) -> None:
        """Remembers counts; what another thread learnt meanwhile may be lost, and is counted again."""
        with self._lock:
            self._kept[live, wanted] = counts.bounded()
            self._kept.move_to_end((live, wanted))
            while len(self._kept) > _FILTERS:
                self._kept.popitem(last=False)
