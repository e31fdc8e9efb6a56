"""The real datasets read completely, and every judgement names an API of its catalog."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import check_dataset
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_evaluation.datasets.queries_file import queries_file, unused_fields
from kitpick_evaluation.errors import InvalidDataset, UnknownDataset
from kitpick_ingest.source_reader import read_source


@pytest.mark.parametrize(
    ("name", "queries", "subsets"),
    [
        ("toolbench", 563, 6),
        ("toollens", 1877, 1),
    ],
)
def test_a_dataset_can_be_judged(shared_data: Path, name: str, queries: int, subsets: int) -> None:
    dataset = check_dataset(open_dataset(name, shared_data))
    assert len(dataset.queries) == queries
    assert len(Counter(query.subset for query in dataset.queries)) == subsets
    assert all(isinstance(item, ApiDocument) for item in read_source(dataset.source)), "a sync would take it"


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
    "line",
    [
        "{",
        '{"query": "a"}',
        '{"query": "a", "relevant": "x"}',
        '{"query": "a", "relevant": [[]]}',
        '{"query": "a", "relevant": [3]}',
        "[]",
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "a", "relevant": ["x"]}\n' + line + "\n")
    with pytest.raises(InvalidDataset, match=r"q\.jsonl:2"):
        queries_file(file)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_list_of_lines_is_refused_with_the_cure(tmp_path: Path, indent: int | None) -> None:
    file = tmp_path / "q.json"
    file.write_text(json.dumps([{"query": "a", "relevant": ["x"]}], indent=indent))
    with pytest.raises(InvalidDataset, match=r"q\.json:1: .*; each line is one whole JSON object"):
        queries_file(file)


def test_the_column_of_broken_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "é" "relevant": ["x"]}\n')
    with pytest.raises(InvalidDataset, match=r"q\.jsonl:1: .*\(column 15\)"):
        queries_file(file)


def test_fields_of_their_own_are_the_users_business_and_named(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "a", "relevant": ["x"], "grade": 3, "note": "?"}\n')
    assert [query.relevant for query in queries_file(file)] == [{"x"}]
    assert unused_fields(file) == ("grade", "note")


def test_groups_of_equally_right_apis_are_read(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    lines = ['[["a", "b"], ["c"]]', '[["a", "b"], "c"]', '[["a"], "c", "a"]', "[]"]
    file.write_text("\n".join(f'{{"query": "{n}", "relevant": {line}}}' for n, line in enumerate(lines)))
    grouped, mixed, plain, nothing = queries_file(file)
    assert grouped.relevant == {"a", "b", "c"}
    assert grouped.needed == mixed.needed == ({"a", "b"}, {"c"})
    assert plain.groups == ()
    assert plain.needed == ({"a"}, {"c"})
    assert nothing.needed == ()


def test_a_request_asked_twice_has_to_be_merged(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"query": "a", "relevant": ["x"]}\n{"query": "a", "relevant": ["y"], "id": "mine"}\n')
    with pytest.raises(InvalidDataset, match="'1' and 'mine' ask the same"):
        queries_file(file)


@pytest.mark.parametrize("grade", ["2", "0.5", "-1", "nan", "high", ""])
def test_grades_beyond_yes_and_no_are_refused(tmp_path: Path, grade: str) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "title": "t", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\nq\t1\t{grade}\n")
    with pytest.raises(InvalidDataset, match=r"test\.tsv"):
        open_dataset(str(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("judgements", "said"),
    [
        ("q\t1\t1\nq\t2\t1\n", "no column 'score'"),
        ("query-id\tcorpus-id\tscore\nq\t1\n", "could not convert string to float: ''"),
        (f"query-id\tcorpus-id\tscore\nq\t{'1' * 200_000}\t1\n", "field larger than field limit"),
    ],
)
def test_a_file_without_judgements_is_refused_in_words(tmp_path: Path, judgements: str, said: str) -> None:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "title": "t", "text": "x"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "x"}\n')
    (tmp_path / "qrels" / "test.tsv").write_text(judgements)
    with pytest.raises(InvalidDataset, match=f"not a judgement file: {said}"):
        open_dataset(str(tmp_path), tmp_path)
