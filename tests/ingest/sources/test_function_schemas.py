"""Functions as they are declared to a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.function_schemas import FunctionSchemasSource

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "where"}, "days": {"type": ["integer", "null"]}},
    "required": ["city"],
}
GEMINI = json.loads(json.dumps(SCHEMA).replace('"string"', '"STRING"').replace('"object"', '"OBJECT"'))
COMMON = {"name": "forecast", "description": "Says the weather."}
RESPONSES = {"type": "function", **COMMON, "parameters": SCHEMA, "strict": True}
FORMS = {
    "openai chat": {"type": "function", "function": {**COMMON, "parameters": SCHEMA, "strict": True}},
    "openai responses": RESPONSES,
    "openai functions": {**COMMON, "parameters": SCHEMA},
    "anthropic": {**COMMON, "input_schema": SCHEMA},
    "gemini": {**COMMON, "parameters": GEMINI},
    "gemini json schema": {**COMMON, "parametersJsonSchema": SCHEMA},
}


def read(path: Path, content: object) -> list[ApiDocument | DeadLetter]:
    path.write_text(json.dumps(content), encoding="utf-8")
    return list(FunctionSchemasSource(path, "fns").read())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tools.json"


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_document(path: Path, form: str) -> None:
    (document,) = read(path, [FORMS[form]])
    assert document == ApiDocument(
        id="fns/fns/forecast",
        source="fns",
        category="",
        tool="fns",
        api="forecast",
        description="Says the weather.",
        parameters=(
            Parameter("city", "string", required=True, description="where"),
            Parameter("days", "integer|null"),
        ),
        definition=json.dumps(FORMS[form]),
        needs=("city=city.~3",),
    )


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ({"model": "m", "tools": [FORMS["anthropic"], 1]}, "/tools/1"),
        ({"functions": [RESPONSES, 1]}, "/functions/1"),
        ({"functionDeclarations": [FORMS["gemini"], 1]}, "/functionDeclarations/1"),
        ({"tools": [{"function_declarations": [FORMS["gemini"], 1]}]}, "/tools/0/function_declarations/1"),
    ],
)
def test_functions_in_a_request_body(path: Path, content: object, pointer: str) -> None:
    document, letter = read(path, content)
    assert isinstance(document, ApiDocument)
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{path}#{pointer}"


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(f"{json.dumps(RESPONSES)}\n\n{json.dumps(FORMS['anthropic'])}\noops\n", encoding="utf-8")
    first, second, broken = FunctionSchemasSource(path, "fns").read()
    assert isinstance(first, ApiDocument)
    assert isinstance(second, ApiDocument)
    assert isinstance(broken, DeadLetter)
    assert broken.position == f"{path}:4"


def test_a_namespace_is_a_tool(path: Path) -> None:
    dotted, grouped = read(
        path, [{"name": "uber.ride.book"}, {"type": "namespace", "name": "crm", "tools": [RESPONSES]}]
    )
    assert isinstance(dotted, ApiDocument)
    assert isinstance(grouped, ApiDocument)
    assert (dotted.tool, dotted.api) == ("uber.ride", "uber.ride.book")
    assert (grouped.tool, grouped.id) == ("crm", "fns/crm/forecast")


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"type": "web_search_preview"}, "a hosted tool of type 'web_search_preview', not a function"),
        ({"type": "bash_20250124", "name": "bash"}, "a hosted tool of type 'bash_20250124', not a function"),
        ({"description": "?"}, "a function without a name"),
        ({"tools": [{"tools": [{"tools": [{"tools": [{"tools": []}]}]}]}]}, "nested too deeply"),
        ({"name": "f", "description": "a\0b"}, "NUL"),
    ],
)
def test_what_is_no_function_is_a_dead_letter(path: Path, entry: object, reason: str) -> None:
    (letter,) = read(path, [entry])
    assert isinstance(letter, DeadLetter)
    assert reason in letter.reason


def test_a_function_of_ten_thousand_parameters(path: Path) -> None:
    properties = {f"p{n}": {"type": "string"} for n in range(10_000)}
    (document,) = read(path, [{"name": "wide", "input_schema": {"type": "object", "properties": properties}}])
    assert isinstance(document, ApiDocument)
    assert len(document.parameters) == 10_000


def test_a_description_of_fifty_megabytes_costs_only_its_function(path: Path) -> None:
    letter, document = read(path, [{"name": "big", "description": "x" * 50_000_000}, RESPONSES])
    assert isinstance(document, ApiDocument)
    assert isinstance(letter, DeadLetter)
    assert "the limit is" in letter.reason
    assert len(letter.excerpt) == 500
