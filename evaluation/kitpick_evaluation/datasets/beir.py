"""The BEIR layout: `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`. ToolLens comes this way."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import msgspec

from kitpick_engines.document import document_id
from kitpick_evaluation.dataset import Dataset, JudgedQuery
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.json_lines import read_json_lines
from kitpick_ingest.sources.beir import BeirSource


class _BeirQuery(msgspec.Struct, rename={"id": "_id"}):
    id: str
    text: str


def beir(folder: Path, name: str | None = None, split: str = "test") -> Dataset:
    """The judged requests of one split over the whole corpus.

    Raises:
        InvalidDataset: a file is missing or broken.
    """
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
        with path.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                if _is_relevant(row["score"]):
                    relevant[row["query-id"]].add(document_id(source, row["corpus-id"]))
    except OSError as error:
        raise InvalidDataset(f"{path}: cannot be read: {error.strerror}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidDataset(f"{path}: not a judgement file: {error!r}") from error
    return {query: frozenset(documents) for query, documents in relevant.items()}


def _is_relevant(grade: str) -> bool:
    """Whether a grade counts as relevant: half of the measures know only yes and no."""
    if float(grade) not in (0.0, 1.0):
        raise ValueError(f"grade {grade}: only 0 and 1 are judged; decide which grades count as relevant")
    return float(grade) == 1.0
