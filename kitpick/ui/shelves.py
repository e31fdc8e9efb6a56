"""Lists a catalog by category for one caller: for the first screen of the page, and to browse."""

from __future__ import annotations

import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from threading import Lock

import msgspec
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.ui.protocol import ApiLine, CategoryLine, Shelf, ToolLine
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain
from kitpick_ingest.prose import clip

MOST = 20_000
"""APIs of one caller that are listed: the page says where there are more."""
MOST_READ = 200_000
"""Documents of the catalog that are read for this, visible to the caller or not."""
EXAMPLES = 3
_TRIED = 12
_KEPT_SECONDS = 60.0
_KEPT = 8
_DESCRIPTION = 160
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\s*\n")
_WORDS = range(3, 15)
"""Words of a description's first sentence that reads like a request."""
_ENDINGS = (
    ("ies", "y"),
    ("sses", "ss"),
    ("shes", "sh"),
    ("ches", "ch"),
    ("xes", "x"),
    ("ss", "ss"),
    ("s", ""),
)
"""Endings of a verb as descriptions begin with it (*lists*, *copies*), and as requests do."""


class CatalogListing(msgspec.Struct, frozen=True):
    """The APIs that one caller may see, in short."""

    lines: tuple[tuple[str, str, ApiLine], ...]
    """Category, tool and API, sorted."""
    sentences: Mapping[str, str]
    """Id → the first sentence of what it does, where that could be a request."""
    more: bool
    """Whether this caller may see more than are listed."""
    changed: float | None = None
    """When the catalog was changed last, where this caller sees all of it."""

    def categories(self) -> tuple[CategoryLine, ...]:
        """The categories with their sizes, the largest first."""
        apis = Counter(category for category, _, _ in self.lines)
        tools = Counter(category for category, _ in {line[:2] for line in self.lines})
        return tuple(CategoryLine(name, tools[name], number) for name, number in apis.most_common())

    def shelf(self, category: str, tool: str | None) -> Shelf:
        """The tools of a category, or the APIs of one of its tools."""
        here = [(name, line) for place, name, line in self.lines if place == category]
        if tool is not None:
            return Shelf(apis=tuple(line for name, line in here if name == tool))
        return Shelf(tools=tuple(ToolLine(*item) for item in Counter(name for name, _ in here).items()))

    def candidates(self, written: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
        """Id and request that could be shown as examples, from one tool after the other.

        Requests that were written for an API (by its id) come before the first sentence of its description.
        """
        requests = [(id_, texts[0]) for id_, texts in written.items() if texts]
        mine = {line.id for _, _, line in self.lines}
        yield from ((id_, text) for id_, text in requests if id_ in mine)
        by_tool: dict[tuple[str, str], list[str]] = {}
        for category, tool, line in self.lines:
            if line.id in self.sentences:
                by_tool.setdefault((category, tool), []).append(line.id)
        for ids in zip_longest(*by_tool.values()):
            yield from ((id_, self.sentences[id_]) for id_ in ids if id_ is not None)


def listing(documents: Iterable[ApiDocument], most: int) -> CatalogListing:
    """What a caller's documents are, in short: the first ones."""
    lines, sentences = [], {}
    rest = iter(documents)
    for document in islice(rest, most):
        text = plain(document.description)
        line = ApiLine(
            document.id, document.api, clip(text, _DESCRIPTION), document.effect.value, document.deprecated
        )
        lines.append((document.category, document.tool, line))
        if sentence := as_request(text):
            sentences[document.id] = sentence
    lines.sort(key=lambda item: (*item[:2], item[2].api))
    return CatalogListing(tuple(lines), sentences, next(rest, None) is not None)


def as_request(description: str) -> str:
    """The first sentence of a description as somebody might ask for it; empty where it does not read so."""
    sentence = _SENTENCE_END.split(description.strip(), maxsplit=1)[0].rstrip(".!?:")
    words = sentence.split()
    if len(words) not in _WORDS or not words[0].isalpha():
        return ""
    first = words[0].lower()
    ending = next((pair for pair in _ENDINGS if first.endswith(pair[0])), ("", ""))
    return " ".join([first.removesuffix(ending[0]) + ending[1], *words[1:]])


def examples(candidates: Iterable[tuple[str, str]], first: Callable[[str], str | None]) -> tuple[str, ...]:
    """Up to three requests that work: `first` names the API that is found first for one, and it is theirs."""
    tried = islice(candidates, _TRIED)
    return tuple(islice((text for id_, text in tried if first(text) == id_), EXAMPLES))


class KeptListing:
    """A listing, when it was made, and the examples of it, once somebody asked for them."""

    def __init__(self, since: float, shown: CatalogListing) -> None:
        self.since = since
        self.shown = shown
        self.examples: tuple[str, ...] | None = None


class Shelves:
    """Listings of a catalog, kept for a minute for a few callers. Safe to use from several threads.

    An empty catalog raises `EmptyCatalog`, one that cannot be read `EngineError`.
    """

    def __init__(self, catalog: Catalog, clock: Callable[[], float] = time.monotonic) -> None:
        self._catalog = catalog
        self._clock = clock
        self._lock = Lock()
        self._kept: OrderedDict[Filter, KeptListing] = OrderedDict()

    def of(self, permitted: Filter) -> CatalogListing:
        """What a caller may see."""
        return self._listing(permitted).shown

    def examples(
        self, permitted: Filter, find: Callable[[CatalogListing], tuple[str, ...]]
    ) -> tuple[str, ...]:
        """The examples of what a caller may see, kept as long as the listing; `find` finds them in it.

        Whatever `find` raises, nothing is kept then.
        """
        listed = self._listing(permitted)
        if listed.examples is None:
            listed.examples = find(listed.shown)
        return listed.examples

    def _listing(self, permitted: Filter) -> KeptListing:
        now = self._clock()
        with self._lock:
            kept = self._kept.get(permitted)
            if kept is not None and now - kept.since < _KEPT_SECONDS:
                return kept
        stats = self._catalog.stats()
        shown = listing(self._catalog.documents(permitted, MOST_READ), MOST)
        if stats is not None and stats.documents > MOST_READ:
            shown = replace(shown, more=True)
        if stats is not None and stats.documents == len(shown.lines):
            shown = replace(shown, changed=stats.changed)
        found = KeptListing(now, shown)
        with self._lock:
            self._kept[permitted] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found
