"""Tool definitions for a model, held against a JSON Schema of each format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sizes import LARGE

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.definitions import (
    DefinitionFormat,
    argument_names,
    input_schema,
    render_definitions,
    sent_arguments,
)
from kitpick_ingest.opening import open_source

NAME = {"type": "string", "pattern": "^[a-zA-Z0-9_-]{1,64}$"}
INPUTS = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"const": "object"},
        "properties": {
            "type": "object",
            "propertyNames": {"pattern": "^[a-zA-Z0-9_.-]{1,64}$"},
            "additionalProperties": {"type": ["object", "boolean"]},
        },
        "required": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
    },
}
FORMATS: dict[DefinitionFormat, dict[str, Any]] = {
    "openai": {
        "type": "object",
        "required": ["type", "function"],
        "additionalProperties": False,
        "properties": {
            "type": {"const": "function"},
            "function": {
                "type": "object",
                "required": ["name", "parameters"],
                "additionalProperties": False,
                "properties": {
                    "name": NAME,
                    "description": {"type": "string", "maxLength": 1024},
                    "parameters": INPUTS,
                    "strict": {"type": "boolean"},
                },
            },
        },
    },
    "responses": {
        "type": "object",
        "required": ["type", "name", "parameters", "strict"],
        "additionalProperties": False,
        "properties": {
            "type": {"const": "function"},
            "name": NAME,
            "description": {"type": "string", "maxLength": 1024},
            "parameters": INPUTS,
            "strict": {"type": "boolean"},
        },
    },
    "anthropic": {
        "type": "object",
        "required": ["name", "input_schema"],
        "additionalProperties": False,
        "properties": {"name": NAME, "description": {"type": "string"}, "input_schema": INPUTS},
    },
    "gemini": {
        "type": "object",
        "required": ["name", "parametersJsonSchema"],
        "additionalProperties": False,
        "properties": {"name": NAME, "description": {"type": "string"}, "parametersJsonSchema": INPUTS},
    },
    "mcp": {
        "type": "object",
        "required": ["name", "inputSchema"],
        "additionalProperties": False,
        "properties": {
            "name": NAME,
            "title": {"type": "string"},
            "description": {"type": "string"},
            "inputSchema": INPUTS,
            "outputSchema": {"type": "object"},
            "annotations": {"type": "object"},
        },
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 1}, "days": {"$ref": "#/$defs/days"}},
    "required": ["city"],
    "additionalProperties": False,
    "$defs": {"days": {"type": "integer", "maximum": 14}},
}


def document(definition: object = None, **fields: Any) -> ApiDocument:
    values = {"id": "s/weather/forecast", "source": "s", "category": "", "tool": "weather", "api": "forecast"}
    return ApiDocument(**values | {"definition": json.dumps(definition) if definition else ""} | fields)


def render(found: ApiDocument, form: DefinitionFormat) -> dict[str, Any]:
    (definition,) = render_definitions([found], form)
    Draft202012Validator(FORMATS[form]).validate(definition)
    return definition


PUBLISHED = {
    "openai chat": {
        "type": "function",
        "function": {"name": "forecast", "parameters": SCHEMA, "strict": True},
    },
    "openai responses": {"type": "function", "name": "forecast", "parameters": SCHEMA, "strict": True},
    "anthropic": {"name": "forecast", "input_schema": SCHEMA},
    "mcp": {"name": "forecast", "inputSchema": SCHEMA},
    "gemini": {"name": "forecast", "parametersJsonSchema": SCHEMA},
}


@pytest.mark.parametrize("published", PUBLISHED)
@pytest.mark.parametrize("form", FORMATS)
def test_a_published_schema_is_returned_as_it_was(published: str, form: DefinitionFormat) -> None:
    definition = render(document(PUBLISHED[published]), form)
    inner = definition.get("function", definition)
    keys = ("parameters", "input_schema", "inputSchema", "parametersJsonSchema")
    schema = next(inner[key] for key in keys if key in inner)
    assert json.dumps(schema) == json.dumps(SCHEMA)


def test_strict_is_kept_for_openai() -> None:
    assert render(document(PUBLISHED["openai chat"]), "openai")["function"]["strict"] is True
    assert "strict" not in render(document(PUBLISHED["mcp"]), "openai")["function"]
    assert render(document(PUBLISHED["openai chat"]), "responses")["strict"] is True
    assert render(document(PUBLISHED["mcp"]), "responses")["strict"] is False


def test_annotations_and_output_schema_are_kept_for_mcp() -> None:
    more = {"annotations": {"readOnlyHint": True}, "outputSchema": {"type": "object"}, "title": "Forecast"}
    definition = render(document(PUBLISHED["mcp"] | more), "mcp")
    assert {key: definition[key] for key in more} == more


@pytest.mark.parametrize(
    ("effect", "hints"),
    [
        (Effect.READ, {"readOnlyHint": True}),
        (Effect.WRITE, {"readOnlyHint": False, "destructiveHint": False}),
        (Effect.DESTRUCTIVE, {"readOnlyHint": False, "destructiveHint": True}),
        (Effect.UNKNOWN, None),
    ],
)
def test_a_known_effect_becomes_mcp_annotations(effect: Effect, hints: object) -> None:
    assert render(document(effect=effect), "mcp").get("annotations") == hints


def test_gemini_types_are_written_as_json_schema_writes_them() -> None:
    gemini = {"type": "OBJECT", "properties": {"type": {"type": "ARRAY", "items": {"type": "STRING"}}}}
    schema = input_schema(document({"name": "forecast", "parameters": gemini}))
    assert schema == {
        "type": "object",
        "properties": {"type": {"type": "array", "items": {"type": "string"}}},
    }


def test_an_object_that_php_wrote_as_a_list_is_one() -> None:
    inner = {"type": "object", "properties": [], "default": {"properties": []}}
    given = {"type": "object", "properties": {"place": inner, "tags": {"enum": [[]]}}, "required": []}
    schema = input_schema(document({"name": "forecast", "parameters": given}))
    assert schema["properties"] == {"place": {**inner, "properties": {}}, "tags": {"enum": [[]]}}
    assert schema["required"] == []


def test_a_function_without_parameters_takes_an_empty_object() -> None:
    schema = input_schema(document({"type": "function", "name": "forecast"}))
    assert schema == {"type": "object", "properties": {}}


def test_a_list_of_parameters_becomes_a_schema() -> None:
    found = document(
        parameters=(
            Parameter("city", "STRING", required=True, description="where"),
            Parameter("days", "array of integer"),
            Parameter("from", "DATE (YYYY-MM-DD)"),
        )
    )
    assert render(found, "anthropic")["input_schema"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "where"},
            "days": {"type": "array", "items": {"type": "integer"}},
            "from": {"description": "(DATE (YYYY-MM-DD))"},
        },
        "required": ["city"],
    }


def test_names_that_providers_refuse_are_replaced_and_lead_back() -> None:
    parameters = (Parameter("filter[id]", required=True), Parameter("filter_id"), Parameter("名"))
    schema = render(document(parameters=parameters), "openai")["function"]["parameters"]
    assert schema["required"] == ["filter_id_2"]
    assert schema["properties"]["filter_id_2"]["description"] == "(sent as 'filter[id]')"
    assert argument_names(parameters) == {
        "filter_id": "filter_id",
        "filter_id_2": "filter[id]",
        "parameter": "名",
    }


def test_ten_thousand_strange_names_are_no_burden() -> None:
    parameters = tuple(Parameter(f"[{'x' * 100}]" + "+" * n) for n in range(10_000))
    assert len(argument_names(parameters)) == 10_000


def test_a_definition_of_another_kind_is_not_taken_for_a_function() -> None:
    endpoint = {"api_name": "forecast", "required_parameters": []}
    assert input_schema(document(endpoint)) == {"type": "object", "properties": {}}
    assert input_schema(document(definition="", parameters=(Parameter("q", "string"),)))["properties"] == {
        "q": {"type": "string"}
    }


def test_an_overlong_description_is_cut_where_openai_would_refuse_the_request() -> None:
    found = document(description="x" * 5000)
    assert len(render(found, "openai")["function"]["description"]) == 1024
    assert len(render(found, "anthropic")["description"]) == 5000


@settings(deadline=None)
@given(
    st.lists(
        st.builds(Parameter, st.text(max_size=70), st.text(max_size=9), st.booleans(), st.text(max_size=9)),
        max_size=12,
    ).map(tuple)
)
def test_any_parameters_make_valid_definitions(parameters: tuple[Parameter, ...]) -> None:
    for form, schema in FORMATS.items():
        assert Draft202012Validator(schema).is_valid(render(document(parameters=parameters), form)), form


@pytest.mark.sweep
@pytest.mark.parametrize("catalog", ["toolbench/apis.jsonl", "livemcp/servers.json", "toollens"])
def test_real_catalogs_render_in_every_format(shared_data: Path, catalog: str) -> None:
    """Of all of them for a release, of some hundreds in any other run."""
    read = [item for item in open_source(str(shared_data / catalog)).read() if isinstance(item, ApiDocument)]
    documents = read if LARGE else read[:: max(1, len(read) // 200)]
    for form, schema in FORMATS.items():
        validator = Draft202012Validator(schema)
        wrong = [each for each in render_definitions(documents, form) if not validator.is_valid(each)]
        assert wrong == []


def test_arguments_go_out_under_the_names_that_the_api_wants() -> None:
    listed = document(parameters=(Parameter("filter[id]", "string"), Parameter("page", "int")))
    (shown,) = (
        name for name in render(listed, "openai")["function"]["parameters"]["properties"] if name != "page"
    )
    assert shown != "filter[id]"
    assert sent_arguments(listed, {shown: "7", "page": 2}) == {"filter[id]": "7", "page": 2}
    native = document(PUBLISHED["mcp"], parameters=(Parameter("filter[id]", "string"),))
    assert sent_arguments(native, {shown: "7"}) == {shown: "7"}
