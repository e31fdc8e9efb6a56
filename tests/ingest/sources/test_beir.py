"""Corpora in BEIR's layout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.errors import SourceError
from kitpick_ingest.sources.beir import BeirSource

LABELLED = (
    "category_name:Food, tool_name:Recipes, Inc, api_name:Search, api_description:Finds: a, b.\n, "
    'required_params: [{"name": "q", "type": "STRING", "description": "x"}], '
    'optional_params: [{"name": "n"}], return_schema: {"a": "str"}'
)


def read(tmp_path: Path, **row: str) -> ApiDocument:
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"_id": "7/a", **row}) + "\n", encoding="utf-8")
    (document,) = BeirSource(tmp_path, "toollens").read()
    assert isinstance(document, ApiDocument)
    assert document.id == "toollens/7%2Fa"
    return document


def test_a_labelled_text_is_taken_apart(tmp_path: Path) -> None:
    document = read(tmp_path, text=LABELLED)
    assert (document.category, document.tool, document.api) == ("Food", "Recipes, Inc", "Search")
    assert (document.description, document.returns) == ("Finds: a, b.", '{"a": "str"}')
    assert document.parameters == (Parameter("q", "STRING", required=True, description="x"), Parameter("n"))


def test_any_other_text_is_a_description(tmp_path: Path) -> None:
    document = read(tmp_path, title="Tides", text="When the sea rises.")
    assert (document.tool, document.api, document.description) == ("toollens", "Tides", "When the sea rises.")


def test_an_entry_without_a_title_goes_by_its_id(tmp_path: Path) -> None:
    assert read(tmp_path, text="Something.").api == "7/a"


@pytest.mark.parametrize(
    "text", [LABELLED.replace("[{", "[{'"), LABELLED[:60], LABELLED.replace(", api_name", "")]
)
def test_a_text_that_only_begins_like_a_labelled_one_is_a_description(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text=text).description == text


def test_a_folder_without_a_corpus_stops_the_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="No such file"):
        list(BeirSource(tmp_path).read())


def test_all_of_toollens(shared_data: Path) -> None:
    documents = [
        item for item in BeirSource(shared_data / "toollens").read() if isinstance(item, ApiDocument)
    ]
    assert len(documents) == 464
    assert len({document.tool_key for document in documents}) == 314
    assert len({document.category for document in documents}) == 19
    assert all("api_description" not in document.description for document in documents)
