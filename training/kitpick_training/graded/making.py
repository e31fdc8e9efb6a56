"""Makes batches: requests that no batch and no graded list has yet, with candidates out of a catalog."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

import msgspec

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_training.data.written import WrittenApi, read_apis
from kitpick_training.graded.batch import BatchList, GradingBatch, ids_of, read_batches, with_repeats
from kitpick_training.graded.requests import AskedRequest, draw, messages_of, read_asked, split_of_asked

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


_REPEATS = 2


class BatchJob(msgspec.Struct, frozen=True, kw_only=True):
    """What batches are to be made."""

    datasets: Path
    folder: Path
    """Where batches are; new ones follow their numbers."""
    batches: int
    size: int
    """Lists in a batch, two repeated ones among them."""
    readers: int = 1
    """They take batches in turn."""
    catalog: str
    """URL of the catalog of candidates; what it lacks of `written/` is ingested."""
    first: Mapping[str, int] = FIRST
    """Profile → how many of its hits become candidates."""


def make_batches(job: BatchJob, graded: Container[str], progress: Callable[[str], None]) -> None:
    """Writes batches, each as soon as it is complete: what was stopped goes on.

    Args:
        job: what to make.
        graded: ids of requests that have grades.
        progress: told of each batch.

    Raises:
        KitpickError: data cannot be read, or the catalog not searched.
    """
    apis = {api.id: api for api in read_apis(job.datasets / "written")}
    earlier = read_batches(job.folder)
    in_batches = ids_of(earlier)
    pool = [each for each in read_asked(job.datasets, apis) if each.id not in graded]
    drawn = draw(pool, job.batches * job.size, apis, in_batches)
    with Catalog.open(job.catalog, settings=Settings(threads=1)) as catalog:
        catalog.ingest(WrittenOperations(apis))
        finder = CandidateFinder(catalog, apis, job.first)
        for _ in range(job.batches):
            number = earlier[-1].number + 1 if earlier else 1
            count = job.size - min(_REPEATS, len(earlier))
            taken, drawn = drawn[:count], drawn[count:]
            if not taken:
                progress("no request is left that is worth grading and has no grades")
                break
            fresh = [BatchList(each, split_of_asked(each, apis), finder.candidates(each)) for each in taken]
            batch = GradingBatch(number, number % job.readers, tuple(with_repeats(fresh, earlier, number)))
            batch.write(job.folder, apis)
            earlier.append(batch)
            progress(f"{number:03}: {len(batch.lists)} lists")
