"""ToolRet: published records of its three kinds become documents and judged requests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_evaluation.dataset import check_dataset
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_evaluation.datasets.toolret import ToolRetSource, read_tool, toolret
from kitpick_evaluation.errors import InvalidDataset

WEB = {
    "category_name": "Food",
    "required_parameters": [{"name": "grocery", "type": "string", "description": "what to buy"}],
    "optional_parameters": [{"name": "limit", "type": "number"}],
    "tool_name": "Stores",
    "name": "search",
    "description": "Finds grocery stores.",
}
CODE = {
    "name": "bacterial_growth",
    "description": "Calculates a population.",
    "parameters": {"time": {"type": "float", "description": "minutes"}},
}


def write(path: Path, records: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three tools and two requests."""
    folder = tmp_path / "toolret"
    write(folder / "tools" / "web.jsonl", [{"id": "web_1", "doc": json.dumps(WEB)}])
    write(
        folder / "tools" / "code.jsonl",
        [{"id": "code_1", "documentation": CODE}, {"id": "code_2", "doc": "plain words"}],
    )
    labels = [{"id": "web_1", "relevance": 1}, {"id": "code_1", "relevance": 0}]
    first = {"id": "q1", "query": "limes nearby", "instruction": "Find a shop.", "labels": json.dumps(labels)}
    write(folder / "queries" / "toollens.jsonl", [first | {"category": "web"}])
    write(
        folder / "queries" / "apigen.jsonl",
        [{"id": "q2", "query": "how many cells", "labels": [{"id": "code_1"}]}],
    )
    return folder


def test_a_request_begins_with_its_instruction_where_that_is_asked_for(folder: Path) -> None:
    with_it, without = (open_dataset(name, folder.parent) for name in ("toolret", "toolret-plain"))

    assert [query.text for query in with_it.queries] == ["how many cells", "Find a shop.\nlimes nearby"]
    assert [query.text for query in without.queries] == ["how many cells", "limes nearby"]


def test_only_relevant_tools_count_and_subsets_are_categories_or_files(folder: Path) -> None:
    queries = check_dataset(toolret(folder, instructed=True)).queries

    assert [(query.subset, sorted(query.relevant)) for query in queries] == [
        ("apigen", ["toolret/code_1"]),
        ("web", ["toolret/web_1"]),
    ]


def test_documents_hold_what_each_form_says(folder: Path) -> None:
    by_id = {item.id: item for item in ToolRetSource(folder).read() if isinstance(item, ApiDocument)}

    web, code, plain = (by_id[f"toolret/{key}"] for key in ("web_1", "code_1", "code_2"))
    assert (web.category, web.tool, web.api) == ("Food", "Stores", "search")
    assert web.parameters == (
        Parameter("grocery", "string", True, "what to buy"),
        Parameter("limit", "number"),
    )
    assert (code.api, code.parameters) == (
        "bacterial_growth",
        (Parameter("time", "float", False, "minutes"),),
    )
    assert (plain.api, plain.description) == ("code_2", "plain words")


def test_labels_that_are_no_list_name_the_request(folder: Path) -> None:
    write(folder / "queries" / "apigen.jsonl", [{"id": "q2", "query": "x", "labels": "nonsense"}])

    with pytest.raises(InvalidDataset, match=r"q2.*labels"):
        toolret(folder, instructed=True)


def test_a_folder_without_tools_is_refused(folder: Path) -> None:
    for path in (folder / "tools").iterdir():
        path.unlink()

    with pytest.raises(InvalidDataset, match=r"tools\.jsonl"):
        list(ToolRetSource(folder).read())


def test_a_model_as_a_tool_is_known_by_its_call_task_and_domain() -> None:
    record = {
        "domain": "Audio Classification",
        "functionality": "Language Identification",
        "api_call": "Wav2Vec2.from_pretrained('lang-id')",
        "description": "Tells which language is spoken.",
    }

    document = read_tool("toolret", "m1", record)

    assert (document.category, document.tool, document.api) == (
        "Audio Classification",
        "Language Identification",
        "Wav2Vec2.from_pretrained('lang-id')",
    )
