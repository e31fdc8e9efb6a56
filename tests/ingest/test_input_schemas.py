"""A schema that is rendered for a model accepts what the published one accepts, or says where it does not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sizes import examples

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_ingest.definitions import DefinitionFormat, input_schema, render_definitions
from kitpick_ingest.input_schemas import COMBINED, MAX_INPUTS, TOO_LARGE, InputSchemas
from kitpick_ingest.json_schema import MAX_PARAMETERS
from kitpick_ingest.references import References
from kitpick_ingest.sources.botocore_models import BotocoreSource
from kitpick_ingest.sources.openapi import OpenApiSource

KEYS: dict[DefinitionFormat, str] = {
    "openai": "parameters",
    "responses": "parameters",
    "anthropic": "input_schema",
    "gemini": "parametersJsonSchema",
    "mcp": "inputSchema",
}
NAMES = ("a", "b", "type")
_SHARED = ("One", "Two")
COMBINING = ("allOf", "anyOf", "oneOf")


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)},
        optional={
            "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
        },
    )


LEAVES = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean")]),
    st.just({"type": "string", "enum": ["small", "large"], "default": "small"}),
    st.just({"type": "string", "minLength": 2, "pattern": "^s"}),
    st.just({"type": "integer", "minimum": 0, "maximum": 2}),
    st.just({"const": 1}),
    st.sampled_from([{"$ref": f"#/components/schemas/{name}"} for name in _SHARED]),
    st.just({"type": ["string", "null"]}),
    st.just({}),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        _objects(inner),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}, optional={"minItems": st.just(1)}),
        st.lists(inner, min_size=1, max_size=2).map(lambda members: {"anyOf": members}),
        st.lists(inner, min_size=1, max_size=2).map(lambda members: {"oneOf": members}),
        st.tuples(inner, inner).map(lambda two: {**two[0], "allOf": [two[1]]}),
        inner.map(lambda one: {"not": one}),
    ),
    max_leaves=6,
)
BODIES = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(st.sampled_from(NAMES), SCHEMAS, min_size=1, max_size=3),
    },
    optional={
        "required": st.lists(st.sampled_from(NAMES), max_size=2, unique=True),
        "additionalProperties": SCHEMAS | st.booleans(),
    },
)
VALUES = st.recursive(
    st.sampled_from([None, True, 0, 1, 2, 3.5, "", "s", "small", "x"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from((*NAMES, "z")), inner),
    max_leaves=5,
)
INSTANCES = st.lists(
    st.dictionaries(st.sampled_from((*NAMES, "z")), VALUES, max_size=4), min_size=8, max_size=16
)


def shared_part(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def one_document(
    folder: Path, body: Any, shared: Any, version: str = "3.1.0", **operation: Any
) -> ApiDocument:
    described = {"content": {"application/json": {"schema": body}}}
    spec = {
        "openapi": version,
        "info": {"title": "D", "version": "1"},
        "paths": {"/x": {"post": {"requestBody": described, **operation}}},
        "components": {"schemas": shared},
    }
    (folder / "spec.json").write_text(json.dumps(spec), "utf-8")
    (document,) = OpenApiSource(folder / "spec.json", "test").read()
    assert isinstance(document, ApiDocument)
    return document


def rendered(document: ApiDocument, form: DefinitionFormat) -> Any:
    (definition,) = render_definitions([document], form)
    return definition.get("function", definition)[KEYS[form]]


@settings(deadline=None, max_examples=examples(200))
@given(body=BODIES, shared=st.fixed_dictionaries(dict.fromkeys(_SHARED, SCHEMAS)), instances=INSTANCES)
def test_a_rendered_schema_accepts_what_the_published_one_accepts(
    tmp_path_factory: pytest.TempPathFactory, body: Any, shared: Any, instances: list[Any]
) -> None:
    document = one_document(tmp_path_factory.mktemp("spec"), body, shared)
    published = Draft202012Validator({**body, "components": {"schemas": shared}})
    compared = [] if is_endless(shared) else [(each, published.is_valid(each)) for each in instances]
    seen: list[Any] = []
    for form in KEYS:
        schema = rendered(document, form)
        if schema in seen:
            continue
        seen.append(schema)
        Draft202012Validator.check_schema(schema)
        shown = Draft202012Validator(schema)
        for instance, accepted in compared:
            assert shown.is_valid(instance) == accepted, (form, schema, instance)


def is_endless(shared: dict[str, Any]) -> bool:
    """Whether a schema leads to itself before it looks into a value: what it accepts is then not defined."""
    led = {name: set(leads_to(schema)) for name, schema in shared.items()}
    for _ in led:
        led = {name: found.union(*(led[each] for each in found)) for name, found in led.items()}
    return any(name in found for name, found in led.items())


def leads_to(schema: Any) -> Iterator[str]:
    """Names of the shared schemas that are asked about the same value."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for part in (schema.get("not"), *(each for key in COMBINING for each in schema.get(key, ()))):
            yield from leads_to(part)


@pytest.mark.parametrize(
    ("one", "two", "endless"),
    [
        (shared_part("One"), {}, True),
        ({"anyOf": [{"type": "object"}, {"not": shared_part("Two")}]}, {"allOf": [shared_part("One")]}, True),
        ({"properties": {"a": shared_part("One")}}, {}, False),
        (shared_part("Two"), {"type": "array", "items": shared_part("One")}, False),
    ],
)
def test_a_schema_that_leads_to_itself_is_still_rendered(
    tmp_path: Path, one: Any, two: Any, endless: bool
) -> None:
    shared = {"One": one, "Two": two}
    assert is_endless(shared) == endless
    body = {"type": "object", "properties": {"a": shared_part("One")}}
    Draft202012Validator.check_schema(rendered(one_document(tmp_path, body, shared), "openai"))


@pytest.mark.parametrize(
    ("published", "wanted"),
    [
        (
            {"type": "string", "nullable": True, "enum": ["a", None]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 0},
        ),
        ({"type": "number", "minimum": 0, "exclusiveMinimum": False}, {"type": "number", "minimum": 0}),
        (
            {"type": "array", "items": [{"type": "integer"}]},
            {"type": "array", "prefixItems": [{"type": "integer"}]},
        ),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        (
            {"type": "object", "properties": {"a": {"type": "string", "required": True}}},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"type": "integer", "minimum": "3", "x-internal": True, "xml": {}},
            {"type": "integer", "minimum": 3},
        ),
        ({"type": "date", "enum": "a", "required": "a", "pattern": 7}, {}),
        ({"type": "file"}, {"type": "string", "format": "binary"}),
    ],
)
def test_what_is_no_json_schema_is_written_as_one(published: Any, wanted: Any) -> None:
    written = InputSchemas(References(published).target).whole(published)
    assert written == wanted
    Draft202012Validator.check_schema(written)


def test_gemini_schemas_keep_their_values_and_become_nullable() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {"a": {"type": "STRING", "nullable": True, "default": "STRING"}},
    }
    document = ApiDocument(
        "s/t/f", "s", "", "t", "f", definition=json.dumps({"name": "f", "parameters": schema})
    )
    wanted = {"type": ["string", "null"], "default": "STRING"}
    assert input_schema(document)["properties"]["a"] == wanted


def test_both_inputs_of_one_name_keep_their_own_schemas(tmp_path: Path) -> None:
    body = {"type": "object", "properties": {"id": {"type": "string", "enum": ["x"]}}}
    given = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}]
    properties = rendered(one_document(tmp_path, body, {}, parameters=given), "openai")["properties"]
    assert properties["id"] == {"minimum": 1, "type": "integer"}
    assert properties["id_in_body"]["enum"] == ["x"]


def test_names_that_are_replaced_keep_their_schemas(tmp_path: Path) -> None:
    given = [{"name": "filter[kind]", "in": "query", "schema": {"type": "string", "enum": ["a"]}}]
    document = one_document(tmp_path, {}, {}, parameters=given)
    properties = rendered(document, "anthropic")["properties"]
    assert properties["filter_kind"]["enum"] == ["a"]


def test_a_schema_that_contains_itself_ends_and_holds(tmp_path: Path) -> None:
    node = {
        "type": "object",
        "required": ["v"],
        "properties": {"v": {}, "next": {"$ref": "#/components/schemas/N"}},
    }
    body = {"type": "object", "properties": {"first": {"$ref": "#/components/schemas/N"}}}
    validator = Draft202012Validator(rendered(one_document(tmp_path, body, {"N": node}), "mcp"))
    assert validator.is_valid({"first": {"v": 1, "next": {"v": 2}}})
    assert not validator.is_valid({"first": {"v": 1, "next": {}}})


def test_a_schema_beyond_the_bound_says_what_it_leaves_out(tmp_path: Path) -> None:
    shared = {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{m}": {"$ref": f"#/components/schemas/S{n + 1}"} for m in range(9)},
        }
        for n in range(400)
    } | {"S400": {"type": "object", "properties": {"x": {"type": "string"}}}}
    body = {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/S0"}}}
    document = one_document(tmp_path, body, shared)
    assert len(document.inputs) <= MAX_INPUTS
    assert TOO_LARGE in document.inputs
    Draft202012Validator.check_schema(rendered(document, "openai"))


def test_inputs_beyond_the_bound_are_said_to_be_left_out_and_not_refused(tmp_path: Path) -> None:
    names = [f"field{number}" for number in range(MAX_PARAMETERS + 1)]
    body = {"properties": {name: {"type": "string"} for name in names}, "additionalProperties": False}
    schema = rendered(one_document(tmp_path, body, {}), "openai")
    assert len(schema["properties"]) == MAX_PARAMETERS
    assert schema["description"] == TOO_LARGE
    assert Draft202012Validator(schema).is_valid(dict.fromkeys(names, "x"))


@pytest.mark.parametrize("kind", ["query", "body", "referred", "allOf"])
def test_an_operation_costs_in_proportion_to_its_inputs(tmp_path: Path, kind: str) -> None:
    def steps(count: int) -> int:
        taken = 0

        def step(*_: object) -> None:
            nonlocal taken
            taken += 1

        body, shared, more = with_inputs(kind, count)
        sys.setprofile(step)
        try:
            document = one_document(tmp_path, body, shared, **more)
        finally:
            sys.setprofile(None)
        assert len(document.parameters) >= count
        return taken

    steps(8)  # what is built once
    few = steps(100)
    assert steps(400) < 4.5 * few


def with_inputs(kind: str, count: int) -> tuple[Any, Any, dict[str, Any]]:
    """An operation with so many inputs: its body, shared schemas, and what else it says."""
    fields = {f"field{number}": {"type": "object", "enum": [{}]} for number in range(count)}
    if kind == "query":
        listed = [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]
        return {}, {}, {"parameters": listed}
    if kind == "referred":
        return {"properties": {name: shared_part(name) for name in fields}}, fields, {}
    if kind == "allOf":
        return {"allOf": [{"properties": {name: schema}} for name, schema in fields.items()]}, {}, {}
    return {"properties": fields}, {}, {}


def test_combinations_that_cannot_be_shown_are_stated(tmp_path: Path) -> None:
    body = {"oneOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]}
    assert rendered(one_document(tmp_path, body, {}), "openai")["description"] == COMBINED


def test_members_that_all_hold_are_written_out_and_nothing_is_left_to_state(tmp_path: Path) -> None:
    body = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {"enum": ["x"]}}, "required": ["b"]}]}
    schema = rendered(one_document(tmp_path, body, {}), "openai")
    assert (list(schema["properties"]), schema["required"], "description" in schema) == (
        ["a", "b"],
        ["b"],
        False,
    )


def test_alternatives_among_members_that_all_hold_are_stated(tmp_path: Path) -> None:
    body = {"properties": {"a": {}}, "allOf": [{"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}]}
    assert rendered(one_document(tmp_path, body, {}), "openai")["description"] == COMBINED


def test_siblings_of_a_reference_count_since_3_1_only(tmp_path: Path) -> None:
    body = {
        "type": "object",
        "properties": {"a": shared_part("S") | {"maxLength": 3, "description": "d"}},
    }
    for version, wanted in (("3.0.3", {"type": "string"}), ("3.1.0", {"type": "string", "maxLength": 3})):
        document = one_document(tmp_path, body, {"S": {"type": "string"}}, version)
        assert rendered(document, "openai")["properties"]["a"] == {**wanted, "description": "d"}


def test_what_is_required_and_described_nowhere_is_an_input(tmp_path: Path) -> None:
    body = {"type": "object", "properties": {"a": {}}, "required": ["id", "a"]}
    inner = {**body, "additionalProperties": {"type": "integer"}}
    for published, of_id in (
        (body, {}),
        (inner, {"type": "integer"}),
        ({"allOf": [inner]}, {"type": "integer"}),
    ):
        schema = rendered(one_document(tmp_path, published, {}), "openai")
        assert (schema["properties"]["id"], sorted(schema["required"])) == (of_id, ["a", "id"])


def test_plain_inputs_need_no_schema(tmp_path: Path) -> None:
    body = {"properties": {"a": {"type": "string"}, "b": {"type": "array", "items": {"type": "integer"}}}}
    assert one_document(tmp_path, body, {}).inputs == ""


def test_inputs_of_cloud_services_show_values_and_fields() -> None:
    found = {d.api: d for d in BotocoreSource(["dynamodb"], "aws").read() if isinstance(d, ApiDocument)}
    schema = rendered(found["CreateTable"], "openai")
    Draft202012Validator.check_schema(schema)
    assert "PAY_PER_REQUEST" in schema["properties"]["BillingMode"]["enum"]
    table = {
        "TableName": "t",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    }
    assert Draft202012Validator(schema).is_valid(table)
    table["KeySchema"][0]["KeyType"] = "PRIMARY"  # type: ignore[index]
    assert not Draft202012Validator(schema).is_valid(table)


def test_a_parameter_list_without_schemas_renders_as_before() -> None:
    document = ApiDocument(
        "s/t/a", "s", "", "t", "a", parameters=(Parameter("n", "integer"),), inputs="{broken"
    )
    assert input_schema(document)["properties"] == {"n": {"type": "integer"}}
