"""Functions are read, and rendered for models, in the form of every provider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.definitions import render_definitions
from kitpick_ingest.function_forms import schema_of
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "array", "items": {}},
    },
    "required": ["city"],
}
ABOUT = {"name": "forecast", "description": "Tells the weather."}
COHERE = {
    "city": {"type": "str", "description": "Where.", "required": True},
    "days": {"type": "list", "required": False},
}
FORMS: dict[str, Any] = {
    "Bedrock": {"toolSpec": {**ABOUT, "inputSchema": {"json": SCHEMA}}},
    "Cohere": {**ABOUT, "parameter_definitions": COHERE},
    "JSON text": {**ABOUT, "parameters": json.dumps(SCHEMA)},
    "OpenAI with JSON text": {"type": "function", "function": {**ABOUT, "parameters": json.dumps(SCHEMA)}},
    "Anthropic with JSON text": {**ABOUT, "input_schema": json.dumps(SCHEMA)},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("around", ["list", "tools", "lines"])
def test_a_function_is_read_and_rendered(tmp_path: Path, form: str, around: str) -> None:
    path = tmp_path / ("tools.jsonl" if around == "lines" else "tools.json")
    value: Any = {"list": [FORMS[form]], "tools": {"tools": [FORMS[form]]}, "lines": FORMS[form]}[around]
    path.write_text(json.dumps(value), "utf-8")
    (document,) = open_source(str(path)).read()
    assert isinstance(document, ApiDocument)
    assert (document.api, document.description) == ("forecast", "Tells the weather.")
    assert document.parameters == (
        Parameter("city", "string", required=True, description="Where."),
        Parameter("days", "array"),
    )
    assert json.loads(document.definition) == FORMS[form]
    (definition,) = render_definitions([document], "anthropic")
    assert definition["input_schema"] == SCHEMA


def test_a_request_body_of_bedrock_is_read(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"modelId": "m", "toolConfig": {"tools": [FORMS["Bedrock"]]}}), "utf-8")
    (document,) = open_source(str(path)).read()
    assert isinstance(document, ApiDocument)
    assert document.api == "forecast"


@pytest.mark.parametrize("schema", ["not JSON", "[1]", "7", "[" * 5_000])
def test_a_text_that_is_no_schema_is_no_schema(schema: str) -> None:
    assert schema_of({"name": "a", "parameters": schema}) is None


def test_a_function_with_such_a_text_still_comes_out(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([{**ABOUT, "parameters": "not JSON"}]), "utf-8")
    (document,) = open_source(f"functions:{path}").read()
    assert not isinstance(document, DeadLetter)
    assert document.parameters == ()


@pytest.mark.parametrize(
    ("kind", "schema"),
    [
        ("List[str]", {"type": "array", "items": {"type": "string"}}),
        ("Dict", {"type": "object"}),
        ("integer", {"type": "integer"}),
        ("Date", {}),
    ],
)
def test_types_of_cohere_are_those_of_python(kind: str, schema: dict[str, Any]) -> None:
    found = schema_of({"parameter_definitions": {"a": {"type": kind}}})
    assert found == {"type": "object", "properties": {"a": schema}}
