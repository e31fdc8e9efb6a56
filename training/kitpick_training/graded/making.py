"""Makes batches: requests that no batch and no graded list has yet, with candidates out of a catalog."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from pathlib import Path

import msgspec

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_training.data.written import read_apis
from kitpick_training.graded.batch import BatchList, GradingBatch, ids_of, read_batches, with_repeats
from kitpick_training.graded.candidates import FIRST, CandidateFinder, WrittenOperations
from kitpick_training.graded.requests import draw, read_asked, split_of_asked

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
            fresh = [BatchList(each, split_of_asked(each, apis), finder.candidates(each)) for each in taken]
            batch = GradingBatch(number, number % job.readers, tuple(with_repeats(fresh, earlier, number)))
            batch.write(job.folder, apis)
            earlier.append(batch)
            progress(f"{number:03}: {len(batch.lists)} lists")
