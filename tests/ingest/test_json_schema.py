"""The inputs that a JSON Schema describes, and the references within it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kitpick_engines.document import Parameter
from kitpick_ingest.json_schema import parameters, property_names, property_schemas, type_name
from kitpick_ingest.prose import MAX_PARAMETER_DESCRIPTION
from kitpick_ingest.references import References, unresolved


def test_the_properties_of_an_object_are_its_parameters() -> None:
    schema = {
        "type": "object",
        "required": ["q"],
        "properties": {"q": {"type": "string", "description": "What."}, "n": {"type": ["integer", "null"]}},
    }
    assert parameters(schema) == (
        Parameter("q", "string", required=True, description="What."),
        Parameter("n", "integer|null"),
    )


def test_required_counts_over_all_members_of_all_of_but_not_for_alternatives() -> None:
    schema = {
        "allOf": [{"properties": {"a": {}, "b": {}}}, {"required": ["a"]}],
        "oneOf": [{"properties": {"c": {}}, "required": ["c", "b"]}, {"properties": {"d": {}}}],
    }
    assert [(p.name, p.required) for p in parameters(schema)] == [
        ("a", True),
        ("b", False),
        ("c", False),
        ("d", False),
    ]


def test_an_input_that_alternatives_have_in_common_allows_what_one_of_them_does() -> None:
    cat = {"properties": {"kind": {"const": "cat"}, "name": {"type": "string", "description": "Its name"}}}
    dog = {"properties": {"kind": {"const": "dog"}, "name": {"type": "integer"}}}
    found = property_schemas({"oneOf": [cat, dog, cat]}, References({}))
    assert found == {
        "kind": {"enum": ["cat", "dog"]},
        "name": {
            "description": "Its name",
            "anyOf": [{"type": "string", "description": "Its name"}, {"type": "integer"}],
        },
    }


def test_an_input_that_always_holds_beats_the_alternatives() -> None:
    one, other = {"properties": {"kind": {"const": 1}}}, {"properties": {"kind": {"const": 2}}}
    schema = {"allOf": [{"oneOf": [one, other]}, {"properties": {"kind": {"type": "integer"}}}]}
    assert property_schemas(schema, References({})) == {"kind": {"type": "integer"}}


def test_of_very_many_alternatives_only_the_description_is_left() -> None:
    many = [{"properties": {"v": {"maximum": number, "description": "A value"}}} for number in range(101)]
    assert property_schemas({"anyOf": many}, References({})) == {"v": {"description": "A value"}}


def test_what_only_the_server_sets_is_no_input_but_comes_out() -> None:
    schema = {"properties": {"id": {"readOnly": True}, "text": {}}}
    assert [p.name for p in parameters(schema)] == ["text"]
    assert property_names(schema, References(schema)) == ("id", "text")


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "STRING"}, "string"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": "array", "items": {"$ref": "#/pet"}}, "array of object"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#/pet"}, {"type": "string"}]}, "string|object"),
        ({"allOf": [{"$ref": "#/pet"}, {"description": "no type"}]}, "object"),
        ({"enum": [1, 2]}, "enum"),
        ({}, ""),
        ({"type": 7}, ""),
    ],
)
def test_the_type_is_told_in_a_few_words(schema: dict[str, Any], name: str) -> None:
    assert type_name(schema, References({"pet": {"properties": {"name": {}}}})) == name


def test_a_reference_is_followed_and_the_nearer_description_wins() -> None:
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x", "description": "near"}},
        "$defs": {"x": {"$ref": "#/$defs/a~1%62"}, "a/b": {"type": "string", "description": "far"}},
    }
    assert parameters(schema) == (
        Parameter("a", "string", description="far"),
        Parameter("b", "string", description="near"),
    )


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/x.json",
        "other.yaml#/x",
        "#/nowhere",
        "#/a/0/b",
        "#name",
        "#/loop",
        "http://[",
        "#/text/x",
    ],
)
def test_a_reference_that_leads_nowhere_is_noted_and_never_fetched(reference: str) -> None:
    root = {"a": 1, "text": "abc", "loop": {"$ref": "#/loop"}, "properties": {"p": {"$ref": reference}}}
    (found,) = parameters(root)
    assert found.description == f"unresolved reference {reference}"
    assert unresolved(References(root).resolve({"$ref": reference}))


def test_a_property_may_be_called_ref() -> None:
    assert [p.name for p in parameters({"properties": {"$ref": {"type": "string"}}})] == ["$ref"]


def test_schemas_that_contain_themselves_many_times_over_take_no_time() -> None:
    levels = {
        f"s{n}": {"allOf": [{"$ref": f"#/s{n + 1}"}] * 100, "anyOf": [{"$ref": "#/s0"}]} for n in range(50)
    }
    root: dict[str, Any] = {**levels, "s50": {"properties": {"end": {}}}, "$ref": "#/s0"}
    began = time.process_time()
    assert [p.name for p in parameters(root)] == ["end"]
    assert time.process_time() - began < 5


def test_ten_thousand_parameters_come_out_and_long_descriptions_are_cut() -> None:
    many = {f"p{n}": {"description": "x" * 1_000} for n in range(12_000)}
    found = parameters({"properties": many})
    assert len(found) == 10_000
    assert {len(p.description) for p in found} == {MAX_PARAMETER_DESCRIPTION}


@pytest.mark.parametrize("schema", [None, [], "text", {"properties": []}, {"allOf": 7, "required": "q"}])
def test_what_is_no_schema_has_no_parameters(schema: object) -> None:
    assert parameters(schema) == ()


@pytest.mark.parametrize("through", ["A", "B"])
def test_a_way_through_what_refers_to_itself_leads_nowhere(through: str) -> None:
    references = References({"A": {"$ref": "#/B"}, "B": {"$ref": f"#/{through}"}, "C": {"$ref": "#/C"}})
    for reference in ("#/A/properties/size", "#/C/1", "#/B/x/y"):
        assert unresolved(references.resolve({"$ref": reference})) == reference


def test_a_place_in_a_list_is_no_number_of_any_length() -> None:
    references = References({"parts": [{"type": "string"}]})
    assert references.resolve({"$ref": "#/parts/0"}) == {"type": "string"}
    assert unresolved(references.resolve({"$ref": "#/parts/" + "9" * 5_000}))
    assert unresolved(references.resolve({"$ref": "#/parts/1"}))
