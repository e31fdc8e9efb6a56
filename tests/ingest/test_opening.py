"""From what a person writes to a source."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument
from kitpick_ingest.errors import IngestError, UnknownSource
from kitpick_ingest.labels import LabelledSource
from kitpick_ingest.opening import as_source, detect_kind, open_source
from kitpick_ingest.readers import READERS

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
TOOL = {"name": "find", "inputSchema": SCHEMA}
SHAPES = {
    "openapi": [{"openapi": "3.1.0", "info": {}, "paths": {}}, {"swagger": "2.0", "paths": {}}],
    "google": [{"kind": "discovery#restDescription", "name": "gmail"}],
    "toolbench": [
        {"category_name": "c", "tool_name": "t", "api_name": "a"},
        [{"tool_name": "t", "api_name": "a"}],
        {"tool_name": "t", "api_list": []},
    ],
    "mcp": [
        {"tools": [TOOL]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}},
        [TOOL],
        [{"name": "s", "category": "c", "tools": {"s": {"tools": [TOOL]}}}],
    ],
    "functions": [
        [{"type": "function", "function": {"name": "f"}}],
        {"tools": [{"type": "function", "name": "f", "parameters": SCHEMA}]},
        [{"name": "f", "input_schema": SCHEMA}],
        {"tools": [{"functionDeclarations": [{"name": "f"}]}]},
        {"function_declarations": [{"name": "f"}]},
        [{"name": "f", "parameters": SCHEMA}],
        [{"type": "namespace", "name": "crm", "tools": []}],
    ],
    "beir": [{"_id": "1", "title": "", "text": "t"}],
    "graphql": [{"data": {"__schema": {"types": []}}}, {"__schema": {}}],
    "registry": [
        {"servers": [{"server": {"name": "a/b", "remotes": []}}]},
        [{"name": "a/b", "packages": []}],
    ],
    "ml-commons": [
        {"tools": [{"type": "ListIndexTool", "name": "list", "attributes": {"input_schema": SCHEMA}}]},
        {"tools": [{"type": "ListIndexTool", "create_time": 1753240166000}]},
    ],
    "a2a": [{"name": "n", "capabilities": {}, "skills": []}],
    "documents": [{"id": "s/t/a", "source": "s", "category": "", "tool": "t", "api": "a"}],
}


@pytest.mark.parametrize(
    ("kind", "content"), [(kind, content) for kind, contents in SHAPES.items() for content in contents]
)
def test_the_kind_of_a_file_shows_in_its_content(tmp_path: Path, kind: str, content: object) -> None:
    path = tmp_path / "input.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    assert detect_kind(str(path)) == kind
    path.rename(tmp_path / "input.txt")
    assert detect_kind(str(tmp_path / "input.txt")) == kind, "whatever it is called"


@pytest.mark.parametrize("text", ["openapi: 3.0.3\npaths: {}\n", "# a comment\n\"swagger\" : '2.0'\n"])
def test_a_specification_in_yaml_is_recognised(tmp_path: Path, text: str) -> None:
    (tmp_path / "api.yaml").write_text(text, encoding="utf-8")
    assert detect_kind(str(tmp_path / "api.yaml")) == "openapi"


def test_a_folder_is_what_its_first_file_is(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# nothing", encoding="utf-8")
    (tmp_path / "corpus.jsonl").write_text('{"_id": "1", "text": "t"}\n', encoding="utf-8")
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "q"}\n', encoding="utf-8")
    source = open_source(str(tmp_path))
    assert (detect_kind(str(tmp_path)), source.name) == ("beir", tmp_path.name)
    assert len(list(source.read())) == 1


def test_files_of_a_project_before_its_description_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"name": "shop", "version": "1.0.0"}', encoding="utf-8")
    (tmp_path / "config.yaml").write_text("debug: true\n", encoding="utf-8")
    assert _refused(tmp_path).startswith(f"{tmp_path}: looks like none of")
    (tmp_path / "shop.yaml").write_text("openapi: 3.1.0\npaths: {}\n", encoding="utf-8")
    assert detect_kind(str(tmp_path)) == "openapi"


def _refused(spec: object) -> str:
    with pytest.raises(UnknownSource) as caught:
        open_source(str(spec))
    return str(caught.value)


def test_a_command_that_is_written_like_a_file_is_told_how_it_is_written() -> None:
    assert "mcp:stdio:COMMAND" in _refused("mcp:python server.py")


def test_every_kind_of_file_is_recognised_by_content() -> None:
    assert SHAPES.keys() == READERS.keys() - {"botocore", "grpc", "skills"}, "grpc is no JSON"


def test_a_kind_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    path.write_text(json.dumps([{"name": "f"}]), encoding="utf-8")
    with pytest.raises(UnknownSource):
        detect_kind(str(path))
    (document,) = open_source(f"functions:{path}").read()
    assert isinstance(document, ApiDocument)
    assert document.id == "calls/calls/f"


def test_a_folder_that_is_called_as_a_kind_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "functions").mkdir()
    (tmp_path / "functions/calls.json").write_text(
        json.dumps({"name": "f", "parameters": {}}), encoding="utf-8"
    )
    monkeypatch.chdir(tmp_path)
    (document,) = open_source("functions").read()
    assert isinstance(document, ApiDocument)
    assert document.id == "functions/functions/f"


@pytest.mark.parametrize("spec", ["nope:x", "no/such.json", "", "x" * 5000, "~no-such-user/x", "a\0b"])
def test_what_no_reader_understands_is_refused(spec: str) -> None:
    with pytest.raises(UnknownSource):
        open_source(spec)


def test_the_refusal_names_what_was_tried_and_the_known_kinds(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"hello": 1}', encoding="utf-8")
    with pytest.raises(UnknownSource) as caught:
        open_source(str(tmp_path / "x.json"))
    assert "looks like none of openapi" in str(caught.value)
    for reader in READERS.values():
        assert reader.form in str(caught.value)


@pytest.mark.parametrize("kind", sorted(READERS.keys() - {"botocore", "google"}))
def test_a_kind_without_a_target_is_refused(kind: str) -> None:
    with pytest.raises(UnknownSource):
        open_source(f"{kind}:")


def test_labels_are_put_on_every_document(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    source = open_source(str(path), name="n", category="Office", tenant="acme", allowed=("alice", "staff"))
    (document,) = source.read()
    assert isinstance(source, LabelledSource)
    assert isinstance(document, ApiDocument)
    assert (document.id, document.category, document.tenant) == ("n/n/find", "Office", "acme")
    assert document.allowed == ("alice", "staff")


@pytest.mark.needs("botocore")
def test_botocore_services_can_be_chosen() -> None:
    source = open_source("botocore: sqs, sts")
    tools = {item.id.split("/")[1] for item in source.read() if isinstance(item, ApiDocument)}
    assert (source.name, tools) == ("botocore", {"sqs", "sts"})


@pytest.mark.parametrize(
    ("spec", "kind", "count"),
    [
        ("toolbench/apis.jsonl", "toolbench", 4331),
        ("livemcp/servers.json", "mcp", 527),
        ("toollens", "beir", 464),
    ],
)
def test_real_catalogs_are_recognised_and_named(shared_data: Path, spec: str, kind: str, count: int) -> None:
    path = str(shared_data / spec)
    source = open_source(path)
    assert detect_kind(path) == kind
    assert source.name == spec.partition("/")[0]
    assert sum(isinstance(item, ApiDocument) for item in source.read()) == count


SAID = st.tuples(st.sampled_from(sorted(READERS)), st.text(max_size=9)).map(":".join)


@settings(deadline=None)
@given(st.text(max_size=30) | SAID)
def test_any_specification_opens_or_is_refused(spec: str) -> None:
    with contextlib.suppress(IngestError):
        assert open_source(spec).name


def test_a_json_file_that_is_broken_is_refused_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{\n "openapi": "3.0.0",\n "paths": {\n}', encoding="utf-8")
    with pytest.raises(UnknownSource, match=r"cannot be parsed as JSON: .* \(line 4, column 2\)"):
        open_source(str(tmp_path / "x.json"))


def test_a_source_keeps_its_own_name_and_another_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    source = open_source(f"functions:{tmp_path / 'x.json'}", name="mine")
    assert as_source(source) is source
    assert as_source(source, "mine") is source
    with pytest.raises(UnknownSource, match="mine: is not 'other'"):
        as_source(source, "other")


class TupleSource(NamedTuple):
    """A source that is also a tuple."""

    name: str

    def read(self) -> Iterator[ApiDocument]:
        """Nothing."""
        return iter(())


def test_a_source_that_is_a_tuple_is_no_list_of_tools() -> None:
    source = TupleSource("mine")
    assert as_source(source) is source
