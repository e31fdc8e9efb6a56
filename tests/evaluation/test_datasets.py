"""The real datasets read completely, and every judgement names an API of its catalog."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from toolrank_evaluation.dataset import check_dataset
from toolrank_evaluation.datasets.opening import open_dataset
from toolrank_evaluation.datasets.queries_file import queries_file
from toolrank_evaluation.errors import InvalidDataset, UnknownDataset


@pytest.mark.parametrize(
    ("name", "queries", "subsets"),
    [
        ("toolbench", 563, 6),
        ("toollens", 1877, 1),
        ("metatool", 21111, 2),
        ("sealtools", 700, 2),
    ],
)
def test_a_dataset_can_be_judged(shared_data: Path, name: str, queries: int, subsets: int) -> None:
    dataset = check_dataset(open_dataset(name, shared_data))
    assert len(dataset.queries) == queries
    assert len(Counter(query.subset for query in dataset.queries)) == subsets


def test_an_unknown_name_says_what_is_known(tmp_path: Path) -> None:
    with pytest.raises(UnknownDataset, match="toolbench"):
        open_dataset("toolbank", tmp_path)


def test_a_missing_folder_says_where_it_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UnknownDataset, match="--data"):
        open_dataset("toolbench", tmp_path)


def test_own_queries_get_line_numbers_as_ids(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "a", "relevant": ["x"]}\n\n{"query": "b", "relevant": ["y"], "id": "mine"}\n')
    assert [(query.id, query.text) for query in queries_file(file)] == [("1", "a"), ("mine", "b")]


@pytest.mark.parametrize(
    "line", ["{", '{"query": "a"}', '{"query": "a", "relevant": ["x"], "grade": 3}', "[]"]
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "a", "relevant": ["x"]}\n' + line + "\n")
    with pytest.raises(InvalidDataset, match=r"q\.jsonl:2"):
        queries_file(file)
