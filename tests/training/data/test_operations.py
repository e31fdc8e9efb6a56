"""Written requests, the whole lists of the tools they name, and what says the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kitpick_engines.document import ApiDocument, Effect
from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.data.operations import copies, described, full_lists, versions
from kitpick_training.data.records import BrokenRecord
from kitpick_training.data.written import Operation, read_written


def lines(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    return path


def api(number: int, **changes: object) -> dict[str, Any]:
    plain = {"source": "openapi", "category": "pets", "provider": "pets.com", "service": "", "tool": "Pets"}
    rest = {"api": f"GET /pets/{number}", "method": "GET", "path": f"/pets/{number}", "description": "A pet"}
    return {"id": number, "parameters": ["size"], **plain, **rest, **changes}


def request(*relevant: int, also: tuple[int, ...] = (), text: str = "which dog") -> dict[str, Any]:
    return {"request": text, "style": "D", "relevant": list(relevant), "also": list(also), "batch": 0}


def test_requests_come_with_the_operations_that_they_name(tmp_path: Path) -> None:
    lines(tmp_path / "apis.jsonl.gz", api(0), api(1), api(2))
    lines(tmp_path / "requests.jsonl.gz", request(2, 0), request(1, also=(2,)))
    first, second = read_written(tmp_path)
    assert [each.api for each in first.relevant] == ["GET /pets/2", "GET /pets/0"]
    assert [each.api for each in second.also] == ["GET /pets/2"]
    assert (second.id, second.style) == (f"{tmp_path.name}-2", "D")


@pytest.mark.parametrize("broken", [request(7), request(1, also=(9,)), request()])
def test_a_request_must_name_what_there_is(tmp_path: Path, broken: dict[str, Any]) -> None:
    lines(tmp_path / "apis.jsonl.gz", api(1))
    lines(tmp_path / "requests.jsonl.gz", broken)
    with pytest.raises(InvalidDataset, match="request 1"):
        read_written(tmp_path)


def test_a_line_without_its_fields_is_named(tmp_path: Path) -> None:
    lines(tmp_path / "apis.jsonl.gz", api(1), {"id": 2})
    lines(tmp_path / "requests.jsonl.gz", request(1))
    with pytest.raises(BrokenRecord, match="line 2"):
        read_written(tmp_path)


def test_services_of_the_two_large_providers_are_held_out_one_by_one() -> None:
    assert Operation("botocore", "aws", "s3", "S3", "ListBuckets").group == "aws s3"
    assert Operation("google", "google", "drive.v3", "Drive API", "drive.files.list").group == "google drive"
    assert Operation("openapi", "google.com", "drive", "Drive", "GET /").group == "google.com"


def rest(number: int, tool: str = "Pets", **changes: object) -> dict[str, Any]:
    parameter = {"name": "size", "required": True, "description": "in cm"}
    return {
        "category": "pets",
        "provider": "pets.com",
        "service": "",
        "tool": tool,
        "tags": ["dogs"],
        "api": f"GET /pets/{number}",
        "method": "DELETE",
        "path": "/",
        "deprecated": False,
        "summary": "Removes a pet.",
        "description": "For ever.",
        "parameters": [parameter],
        **changes,
    }


def test_a_catalog_holds_all_operations_of_the_tools_and_of_no_others(tmp_path: Path) -> None:
    lines(tmp_path / "apis.jsonl.gz", api(0), api(1))
    lines(tmp_path / "requests.jsonl.gz", request(0))
    openapi = lines(tmp_path / "openapi.jsonl.gz", rest(0), rest(5), rest(6, tool="Birds"))
    (asked,) = read_written(tmp_path)
    found = full_lists(asked.relevant, openapi, "written")
    assert sorted(operation.api for operation in found) == ["GET /pets/0", "GET /pets/5"]
    document = found[asked.relevant[0].operation]
    assert (document.description, document.effect) == ("Removes a pet. For ever.", Effect.DESTRUCTIVE)
    assert document.parameters[0].required
    assert document.source == "written"


def test_what_the_lists_lack_stands_as_it_was_written_down(tmp_path: Path) -> None:
    aws = api(0, source="botocore", provider="aws", service="no-such-service", api="GetPet", method="")
    lines(tmp_path / "apis.jsonl.gz", aws)
    lines(tmp_path / "requests.jsonl.gz", request(0))
    (asked,) = read_written(tmp_path)
    (document,) = full_lists(asked.relevant, tmp_path / "absent.jsonl.gz", "written").values()
    assert (document.api, document.description) == ("GetPet", "A pet")


@pytest.mark.needs("botocore")
def test_operations_of_aws_come_out_of_the_installed_package(tmp_path: Path) -> None:
    tool = "Amazon Simple Queue Service"
    aws = api(0, source="botocore", provider="aws", service="sqs", tool=tool, api="SendMessage", method="")
    lines(tmp_path / "apis.jsonl.gz", aws)
    lines(tmp_path / "requests.jsonl.gz", request(0))
    (asked,) = read_written(tmp_path)
    found = full_lists(asked.relevant, tmp_path / "absent.jsonl.gz", "written")
    assert len(found) > 15
    assert len({document.id for document in found.values()}) == len(found)
    assert "queue" in found[asked.relevant[0].operation].description


@pytest.mark.parametrize(
    ("summary", "description", "text"),
    [
        ("List pets.", "List pets of an owner", "List pets of an owner"),
        ("List pets.", "Of an owner.", "List pets. Of an owner."),
        ("", "Of an owner.", "Of an owner."),
        ("List pets.", "", "List pets."),
        ("", "", ""),
    ],
)
def test_a_summary_is_not_said_twice(summary: str, description: str, text: str) -> None:
    assert described(summary, description) == text


def document(id_: str, api_name: str, description: str) -> ApiDocument:
    return ApiDocument(id=id_, source="s", category="c", tool=id_, api=api_name, description=description)


def test_copies_have_one_name_and_one_description() -> None:
    documents = [
        document("a", "think", "Thinks  aloud"),
        document("b", "Think", "thinks aloud"),
        document("c", "think", "Thinks in silence"),
        document("d", "think", ""),
        document("e", "think", ""),
    ]
    found = copies(documents)
    assert found == {"a": {"b"}, "b": {"a"}}, "without a description nobody knows whether they say the same"


def test_versions_of_a_service_have_the_same_operations() -> None:
    keys = [
        Operation("google", "google", "drive.v2", "Drive v2", "drive.files.get"),
        Operation("google", "google", "drive.v3", "Drive v3", "drive.files.get"),
        Operation("google", "google", "drive.v3", "Drive v3", "drive.files.list"),
        Operation("openapi", "pets.com", "v1", "Pets", "get"),
        Operation("openapi", "pets.com", "v2", "Pets", "get"),
    ]
    found = versions({key: document(f"{n}", key.api, "") for n, key in enumerate(keys)})
    assert found == {"0": {"1"}, "1": {"0"}}
