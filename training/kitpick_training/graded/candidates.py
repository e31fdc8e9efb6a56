"""What a request might mean: what words, vectors, their fusion and the models find, labels, and siblings."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kitpick.catalog import Catalog
from kitpick_engines.document import ApiDocument
from kitpick_training.data.written import WrittenApi
from kitpick_training.graded.requests import AskedRequest, messages_of

FIRST: Mapping[str, int] = MappingProxyType({"bm25": 8, "dense": 8, "hybrid": 8, "kitpick": 5})
"""Profile → how many of its hits become candidates."""
SIBLINGS = 2
"""Other APIs of the tool that is asked for, drawn by chance."""


class WrittenOperations:
    """The operations of `datasets/written` as a source."""

    name = "written"

    def __init__(self, apis: Mapping[int, WrittenApi]) -> None:
        self._apis = apis

    def read(self) -> Iterator[ApiDocument]:
        """Every operation, as the line alone gives it."""
        for api in self._apis.values():
            yield api.document(self.name)


class CandidateFinder:
    """Finds candidates in a catalog that holds `WrittenOperations`."""

    def __init__(
        self, catalog: Catalog, apis: Mapping[int, WrittenApi], first: Mapping[str, int] = FIRST
    ) -> None:
        self._catalog, self._first = catalog, first
        self._numbers = {api.document("written").id: number for number, api in apis.items()}
        self._apis = apis
        self._of_tool: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, api in apis.items():
            self._of_tool[api.operation[:4]].append(number)

    def candidates(self, asked: AskedRequest) -> tuple[int, ...]:
        """Ids of the candidates, each once, shuffled; equal requests have equal ones.

        Raises:
            KitpickError: the catalog cannot be searched.
        """
        request = messages_of(asked) if asked.context else asked.request
        found = dict.fromkeys(asked.named)
        for profile, first in self._first.items():
            hits = self._catalog.search(request, first, profile=profile).hits
            found.update(dict.fromkeys(self._numbers[hit.document.id] for hit in hits))
        chance = random.Random(asked.id)
        tools = dict.fromkeys(self._apis[number].operation[:4] for number in asked.named)
        others = [number for tool in tools for number in self._of_tool[tool] if number not in found]
        found.update(dict.fromkeys(chance.sample(others, min(SIBLINGS, len(others)))))
        return tuple(chance.sample(list(found), len(found)))
