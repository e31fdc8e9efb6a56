"""Written requests: several folders in one catalog, and what is held out together."""

from __future__ import annotations

import gzip
import json

import pytest

from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.data.readers import OURS, read_written
from kitpick_training.data.records import MissingData
from kitpick_training.data.split import split_of


def api(number: int, tool: str, provider: str = "acme.com", service: str = "") -> dict[str, object]:
    return {
        "id": number,
        "source": "openapi",
        "category": "office",
        "provider": provider,
        "service": service,
        "tool": tool,
        "api": f"GET /{number}",
        "method": "GET",
        "path": f"/{number}",
        "description": f"Operation {number}.",
        "parameters": ["page"],
    }


def request(text: str, relevant: list[int], also: tuple[int, ...] = ()) -> dict[str, object]:
    return {"request": text, "style": "A", "relevant": relevant, "also": list(also), "batch": 0}


@pytest.fixture
def folder(tmp_path):
    def write(name, apis, requests):
        path = tmp_path / name
        path.mkdir()
        for file, rows in (("apis", apis), ("requests", requests)):
            lines = "".join(json.dumps(row) + "\n" for row in rows)
            (path / f"{file}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        return path

    return write


def test_two_folders_that_number_alike_are_one_catalog(folder):
    first = folder("one", [api(0, "Calendar")], [request("put lunch down", [0])])
    second = folder("two", [api(0, "Mail")], [request("write to Bob", [0])])
    catalog = read_written(first, second)
    tools = [catalog.documents[asked.relevant[0]].tool for asked in catalog.requests]
    assert tools == ["Calendar", "Mail"]


def test_an_absent_folder_is_left_out_and_a_repeated_one_is_read_once(folder, tmp_path):
    here = folder("one", [api(0, "Calendar")], [request("put lunch down", [0])])
    assert read_written(here, tmp_path / "one" / ".." / "one", tmp_path / "none") == read_written(here)


def test_without_any_folder_the_missing_one_is_named(tmp_path):
    with pytest.raises(MissingData, match="none"):
        read_written(tmp_path / "none")


def test_other_operations_of_the_tool_are_offered_unless_they_would_answer_too(folder):
    apis = [api(0, "Calendar"), api(1, "Calendar"), api(2, "Calendar"), api(3, "Mail")]
    asked = read_written(folder("one", apis, [request("put lunch down", [0], also=(2,))])).requests[0]
    assert (asked.relevant, asked.offered, asked.also) == (("0/0",), ("0/1",), ("0/2",))


def test_a_provider_is_one_group_and_of_a_giant_each_service(folder):
    apis = [
        api(0, "A", "acme.com", "mail"),
        api(1, "B", "acme.com", "maps"),
        api(2, "C", "aws", "s3.v2"),
        api(3, "D", "aws", "sqs"),
    ]
    groups = read_written(folder("one", apis, [])).groups
    assert list(groups.values()) == ["acme.com", "acme.com", "aws s3", "aws sqs"]


def test_a_request_for_an_unknown_operation_is_refused(folder):
    with pytest.raises(InvalidDataset, match="request 1 names the unknown operation 7"):
        read_written(folder("one", [api(0, "Calendar")], [request("boo", [7])]))


def test_the_requests_of_the_repository_fill_all_three_splits():
    catalog = read_written(OURS)
    page = (OURS.parent / "README.md").read_text("utf-8")
    counts = f"{len(catalog.requests):,} requests in six styles for {len(catalog.documents):,} operations"
    assert counts in page
    assert {split_of(group, 0.1) for group in catalog.groups.values()} == {"train", "validation", "test"}
