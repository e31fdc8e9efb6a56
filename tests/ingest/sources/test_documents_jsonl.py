"""Our own documents, one a line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument, Effect, Parameter, document_id, encode_document, escape_part
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.documents_jsonl import DocumentsSource

DOCUMENT = ApiDocument(
    id=document_id("old/name", "t", "a"),
    source="old/name",
    category="c",
    tool="t",
    api="a",
    parameters=(Parameter("p", required=True),),
    effect=Effect.WRITE,
    allowed=("alice",),
    definition='{"x":  1}',
)


def written(path: Path, *documents: ApiDocument) -> Path:
    path.write_bytes(b"".join(encode_document(document) + b"\n" for document in documents))
    return path


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    path = written(tmp_path / "out.jsonl", DOCUMENT, DOCUMENT)
    assert list(DocumentsSource(path, "old/name").read()) == [DOCUMENT, DOCUMENT]


@settings(deadline=None)
@given(st.builds(ApiDocument, *[st.text('aä/%\n"\\', min_size=1)] * 5, definition=st.text()))
def test_any_document_comes_back(tmp_path_factory: pytest.TempPathFactory, document: ApiDocument) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any.jsonl", document)
    (back,) = DocumentsSource(path, document.source).read()
    prefix = f"{escape_part(document.source)}/"
    own = msgspec.structs.replace(document, id=prefix + document.id.removeprefix(prefix))
    assert back == own or isinstance(back, DeadLetter)


def test_an_import_under_another_name_does_not_take_the_original_away(tmp_path: Path) -> None:
    (document,) = DocumentsSource(written(tmp_path / "out.jsonl", DOCUMENT), "copy").read()
    assert isinstance(document, ApiDocument)
    assert (document.id, document.source) == ("copy/t/a", "copy")


def test_a_line_that_is_no_document_is_a_dead_letter(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_bytes(b'{"id": "x"}\r\n{"id"\n')
    first, second = DocumentsSource(path).read()
    assert isinstance(first, DeadLetter)
    assert isinstance(second, DeadLetter)
    assert (first.position, second.position) == (f"{path}:1", f"{path}:2")
    assert "source" in first.reason
