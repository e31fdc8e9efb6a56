"""RapidAPI endpoints in ToolBench's two forms."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.toolbench import ToolBenchSource

ENDPOINT = {
    "category_name": "Food/Drink",
    "tool_name": "Recipes",
    "api_name": "Search",
    "api_description": "Finds recipes.",
    "required_parameters": [{"name": "q", "type": "STRING", "description": "what to cook", "default": ""}],
    "optional_parameters": [{"name": "page", "type": "NUMBER", "description": ""}],
    "method": "GET",
}
TOOL = {
    "tool_name": "Recipes",
    "tool_description": "All about recipes.",
    "host": "recipes.p.rapidapi.com",
    "api_list": [
        {"name": "Search", "description": "Finds recipes.", "method": "GET", "required_parameters": []},
        {"name": "Remove", "description": "", "method": "DELETE", "schema": {"ok": "bool"}},
    ],
}


def write_lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read(path: Path) -> list[ApiDocument | DeadLetter]:
    return list(ToolBenchSource(path).read())


def test_an_endpoint_record_becomes_a_document_with_its_line_as_definition(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "apis.jsonl", ENDPOINT)
    (document,) = read(path)
    assert document == ApiDocument(
        id="toolbench/Food%2FDrink/Recipes/Search",
        source="toolbench",
        category="Food/Drink",
        tool="Recipes",
        api="Search",
        description="Finds recipes.",
        parameters=(
            Parameter("q", "STRING", required=True, description="what to cook"),
            Parameter("page", "NUMBER"),
        ),
        effect=Effect.READ,
        definition=path.read_text(encoding="utf-8").removesuffix("\n"),
        gives=("recipe.~3",),
    )


def test_a_tool_file_yields_its_endpoints_in_the_category_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "tools" / "Food"
    folder.mkdir(parents=True)
    (folder / "recipes.json").write_text(json.dumps(TOOL, indent=2), encoding="utf-8")
    search, remove = read(tmp_path / "tools")
    assert isinstance(search, ApiDocument)
    assert isinstance(remove, ApiDocument)
    assert (search.id, search.category) == ("toolbench/Food/Recipes/Search", "Food")
    assert (remove.description, remove.effect) == ("All about recipes.", Effect.DESTRUCTIVE)
    assert remove.returns == '{"ok":"bool"}'
    assert json.loads(remove.definition) == TOOL["api_list"][1]
    assert remove.definition in (folder / "recipes.json").read_text(encoding="utf-8")


def test_an_array_of_endpoints_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "apis.json"
    path.write_text(json.dumps([ENDPOINT, {**ENDPOINT, "api_name": "Other"}], indent=1), encoding="utf-8")
    assert [getattr(item, "api", None) for item in read(path)] == ["Search", "Other"]


def test_one_bad_line_costs_only_that_line(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "apis.jsonl", ENDPOINT, {"tool_name": "T"}, ENDPOINT)
    path.write_bytes(path.read_bytes() + b'{"tool_name": \n')
    _, missing, _, broken = read(path)
    assert isinstance(missing, DeadLetter)
    assert missing.position == f"{path}:2"
    assert "api_name" in missing.reason
    assert isinstance(broken, DeadLetter)
    assert (broken.position, broken.excerpt) == (f"{path}:4", '{"tool_name":')


def test_a_broken_file_of_a_folder_costs_only_that_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{", encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps(TOOL), encoding="utf-8")
    broken, *rest = read(tmp_path)
    assert isinstance(broken, DeadLetter)
    assert broken.position == str(tmp_path / "a.json")
    assert [type(item) for item in rest] == [ApiDocument, ApiDocument]


@pytest.mark.parametrize("content", ["", "{", "[1, 2"])
def test_a_file_that_is_no_json_stops_the_source(tmp_path: Path, content: str) -> None:
    path = tmp_path / "apis.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SourceError, match="cannot be parsed"):
        read(path)


def test_a_missing_file_and_an_empty_folder_stop_the_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        read(tmp_path / "nowhere.jsonl")
    with pytest.raises(SourceError, match="holds no file with suffix"):
        read(tmp_path)


def test_all_real_endpoints_come_out_with_their_bytes(shared_data: Path) -> None:
    path = shared_data / "toolbench" / "apis.jsonl"
    documents = [item for item in read(path) if isinstance(item, ApiDocument)]
    assert len(documents) == 4331
    assert len({document.id for document in documents}) == 4331
    assert "\n".join(document.definition for document in documents) == path.read_text("utf-8").strip()
