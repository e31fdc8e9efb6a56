"""Published datasets, and folders in their layouts: how each is read, and by which name it is opened.

Readers raise `InvalidDataset` where a file is missing or broken.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path

import msgspec

from kitpick_engines.document import document_id
from kitpick_evaluation.dataset import Dataset, JudgedQuery
from kitpick_evaluation.datasets.toolret import toolret
from kitpick_evaluation.errors import InvalidDataset, UnknownDataset
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_foundation.text_files import open_utf8
from kitpick_ingest.opening import open_source
from kitpick_ingest.sources.beir import BeirSource


class _BeirQuery(msgspec.Struct, rename={"id": "_id"}):
    id: str
    text: str


def beir(folder: Path, name: str | None = None, split: str = "test") -> Dataset:
    """The judged requests of one split over the whole corpus."""
    source = BeirSource(folder, name or folder.name)
    judgements = _judgements(folder / "qrels" / f"{split}.tsv", source.name)
    queries = tuple(
        JudgedQuery(query.id, query.text, judgements[query.id])
        for query in read_json_lines(folder / "queries.jsonl", _BeirQuery)
        if query.id in judgements
    )
    return Dataset(source.name, source, queries)


def _judgements(path: Path, source: str) -> dict[str, frozenset[str]]:
    relevant: defaultdict[str, set[str]] = defaultdict(set)
    try:
        with TextIOWrapper(open_utf8(path), "utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if _is_relevant(row["score"] or ""):
                    relevant[row["query-id"]].add(document_id(source, row["corpus-id"]))
    except OSError as error:
        raise InvalidDataset(f"{path}: cannot be read: {error.strerror}") from error
    except KeyError as error:
        needed = "its first line has to name query-id, corpus-id and score"
        raise InvalidDataset(f"{path}: not a judgement file: no column {error}: {needed}") from error
    except (TypeError, ValueError, csv.Error) as error:
        raise InvalidDataset(f"{path}: not a judgement file: {error}") from error
    return {query: frozenset(documents) for query, documents in relevant.items()}


def _is_relevant(grade: str) -> bool:
    """Whether a grade counts as relevant: half of the measures know only yes and no."""
    if float(grade) not in (0.0, 1.0):
        raise ValueError(f"grade {grade}: only 0 and 1 are judged; decide which grades count as relevant")
    return float(grade) == 1.0


_TOOLBENCH = "toolbench"


class _ToolBenchQuery(msgspec.Struct):
    id: str
    query: str
    relevant: list[tuple[str, str, str]]
    subset: str


def toolbench(folder: Path) -> Dataset:
    """The development requests over every endpoint."""
    return Dataset(
        _TOOLBENCH,
        open_source(f"toolbench:{folder / 'apis.jsonl'}", name=_TOOLBENCH),
        judged_requests(folder / "queries_dev.jsonl"),
    )


def judged_requests(path: Path) -> tuple[JudgedQuery, ...]:
    """The requests of one file."""
    return tuple(_judged(query) for query in read_json_lines(path, _ToolBenchQuery))


def _judged(query: _ToolBenchQuery) -> JudgedQuery:
    relevant = frozenset(document_id(_TOOLBENCH, *triple) for triple in query.relevant)
    return JudgedQuery(query.id, query.query, relevant, query.subset)


DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "toolbench": toolbench,
    "toollens": lambda folder: beir(folder, "toollens"),
    "toolret": lambda folder: toolret(folder, instructed=True),
    "toolret-plain": lambda folder: toolret(folder, instructed=False),
}
"""Name → reader of its folder, which has the name's first part under the data folder."""


def open_dataset(name: str, data: Path) -> Dataset:
    """A dataset by its name in the folder `data`, or any folder in BEIR layout by its path.

    Raises:
        UnknownDataset: no such name, or the folder is absent.
        InvalidDataset: its files are broken.
    """
    if name in DATASETS:
        folder = data / name.partition("-")[0]
        if not folder.is_dir():
            raise UnknownDataset(f"{name}: no folder {folder}: name the folder of the datasets with --data")
        return DATASETS[name](folder)
    if (Path(name) / "corpus.jsonl").is_file():
        return beir(Path(name))
    raise UnknownDataset(f"{name!r} is neither one of {', '.join(DATASETS)} nor a folder in BEIR layout")
