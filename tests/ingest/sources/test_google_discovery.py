"""Methods of Google APIs, out of their discovery documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from sizes import LARGE

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource, installed_documents

LIST: dict[str, Any] = {
    "id": "post.letters.list",
    "description": "Lists letters.",
    "httpMethod": "GET",
    "path": "letters",
    "parameters": {
        "box": {"type": "string", "required": True, "location": "path", "description": "Which box."},
        "label": {"type": "string", "repeated": True, "location": "query"},
    },
    "response": {"$ref": "Letters"},
    "scopes": ["https://www.googleapis.com/auth/post.readonly", "https://mail.google.com/"],
}
SEND: dict[str, Any] = {
    "id": "post.letters.send",
    "httpMethod": "POST",
    "request": {"$ref": "Letter"},
    "deprecated": True,
}
API: dict[str, Any] = {
    "kind": "discovery#restDescription",
    "id": "post:v2",
    "title": "Post API",
    "version": "v2",
    "ownerName": "Google",
    "resources": {"letters": {"methods": {"list": LIST, "send": SEND}}},
    "schemas": {
        "Letters": {
            "type": "object",
            "properties": {"letters": {"type": "array"}, "next": {"type": "string"}},
        },
        "Letter": {
            "properties": {
                "id": {"type": "string", "readOnly": True},
                "text": {"type": "string", "description": "What to say."},
                "to": {"type": "array", "items": {"$ref": "Person"}},
                "reply": {"$ref": "Letter"},
            }
        },
    },
}


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def read(path: Path) -> list[ApiDocument | DeadLetter]:
    return list(GoogleDiscoverySource(path).read())


def documents(path: Path) -> list[ApiDocument]:
    return [item for item in read(path) if isinstance(item, ApiDocument)]


def test_a_method_becomes_a_document(tmp_path: Path) -> None:
    document = documents(write(tmp_path / "post.json", API))[0]
    assert document == ApiDocument(
        id="google/post:v2/post.letters.list",
        source="google",
        category="Google",
        tool="Post API v2",
        api="post.letters.list",
        description="Lists letters.",
        parameters=(
            Parameter("box", "string", required=True, description="Which box."),
            Parameter("label", "array of string"),
        ),
        returns="letters, next",
        tags=("post.readonly", "mail.google.com"),
        version="v2",
        effect=Effect.READ,
        definition=document.definition,
        needs=("box=box.~5",),
        gives=("letter.~9",),
    )


def test_fields_of_the_request_body_that_a_caller_may_set_are_parameters(
    tmp_path: Path,
) -> None:
    send = documents(write(tmp_path / "post.json", API))[1]
    assert send.parameters == (
        Parameter("text", "string", description="What to say."),
        Parameter("to", "array of object"),
        Parameter("reply", "object"),
    )
    assert send.effect is Effect.WRITE
    assert send.deprecated


def test_the_definition_is_the_method_as_it_stands_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "post.json", API)
    for document in documents(path):
        assert f": {document.definition}" in path.read_text(encoding="utf-8")


def test_methods_of_nested_resources_and_of_the_api_itself_are_found(tmp_path: Path) -> None:
    nested = {"methods": {"top": {**LIST, "id": "top"}}, "resources": {"a": {"resources": {"b/c": {}}}}}
    nested["resources"]["a"]["resources"]["b/c"] = {"methods": {"deep": {**LIST, "id": "deep"}}}
    found = documents(write(tmp_path / "post.json", {**API, **nested}))
    assert [document.api for document in found] == ["top", "deep"]


def test_a_broken_method_costs_only_itself(tmp_path: Path) -> None:
    broken = {"letters": {"methods": {"bad/one": {"id": 7}, "list": LIST}}, "boxes": {"methods": []}}
    letters = read(write(tmp_path / "post.json", {**API, "resources": broken}))
    assert [type(item) for item in letters] == [DeadLetter, DeadLetter, ApiDocument]
    positions = [item.position.partition("#")[2] for item in letters if isinstance(item, DeadLetter)]
    assert positions == ["/resources/boxes", "/resources/letters/methods/bad~1one"]


def test_a_folder_is_read_file_by_file_and_its_index_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "a.json", API)
    write(tmp_path / "b.json", {"kind": "something else"})
    write(tmp_path / "c.json", {**API, "description": "the same API again"})
    write(tmp_path / "index.json", {"kind": "discovery#directoryList", "items": []})
    found = read(tmp_path)
    assert [type(item) for item in found] == [ApiDocument, ApiDocument, DeadLetter, DeadLetter]


@pytest.mark.parametrize(
    "content", ["{", "[]", "null", '{"kind": "other"}', '{"resources": 7}', "[" * 100_000]
)
def test_a_file_that_is_no_discovery_document_is_an_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "post.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError):
        read(path)


def test_resources_nested_too_deeply_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "post.json"
    path.write_text('{"resources": {"a": ' * 50_000 + "{}" + "}}" * 50_000, encoding="utf-8")
    with pytest.raises(SourceError, match="nested too deeply"):
        read(path)


@pytest.mark.sweep
@pytest.mark.needs("google")
def test_every_installed_document_is_read(tmp_path: Path) -> None:
    """A release reads all of them, any other run a sample."""
    documents = sorted(installed_documents().glob("*.json"))
    sample = documents if LARGE else documents[:: len(documents) // 20]
    for document in sample:
        shutil.copy(document, tmp_path)
    found = read(tmp_path)
    letters = [item for item in found if isinstance(item, DeadLetter)]
    assert all("already does" in letter.reason for letter in letters)
    apis = [item for item in found if isinstance(item, ApiDocument)]
    assert len(apis) > (10_000 if LARGE else 200)
    assert len({document.id for document in apis}) == len(apis)
