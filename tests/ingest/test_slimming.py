"""A slimmed definition takes exactly what the whole one takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sizes import examples

from kitpick_engines.document import ApiDocument
from kitpick_ingest.definitions import MAX_FIELD, render_definitions, slim_definition
from kitpick_ingest.sources.mcp_dump import McpDumpSource

SCHEMA = {
    "type": "object",
    "title": "Search",
    "x-vendor": 1,
    "properties": {
        "title": {"type": "string", "minLength": 2, "description": "Of the note. " + "More. " * 50},
        "examples": {"type": "array", "items": {"type": "integer", "examples": [1]}, "maxItems": 3},
        "kind": {"enum": ["a", "b"], "default": "a", "title": "Kind"},
        "deep": {"anyOf": [{"$ref": "#/$defs/deep"}, {"type": "null"}]},
    },
    "required": ["title"],
    "additionalProperties": False,
    "$defs": {"deep": {"type": "object", "properties": {"x": {"type": "number", "title": "X"}}}},
    "examples": [{"title": "no"}],
}
values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "b", "long"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["x", "y"]), inner),
    max_leaves=6,
)
instances = st.dictionaries(st.sampled_from(["title", "examples", "kind", "deep", "other"]), values)


def slim(schema: dict[str, Any]) -> dict[str, Any]:
    return slim_definition({"name": "f", "input_schema": schema})["input_schema"]


def is_schema(schema: dict[str, Any]) -> bool:
    """Some published schemas are none of the current draft, and stay what they are."""
    return Draft202012Validator(Draft202012Validator.META_SCHEMA).is_valid(schema)


@given(instances)
@settings(deadline=None, max_examples=examples(300))
def test_every_input_is_judged_as_before(instance: dict[str, Any]) -> None:
    whole, slimmed = Draft202012Validator(SCHEMA), Draft202012Validator(slim(SCHEMA))
    assert whole.is_valid(instance) == slimmed.is_valid(instance)


def test_prose_is_cut_and_names_that_look_like_commentary_stay() -> None:
    slimmed = slim(SCHEMA)
    assert list(slimmed["properties"]) == ["title", "examples", "kind", "deep"]
    assert slimmed["properties"]["title"]["description"] == "Of the note."
    assert slimmed["properties"]["kind"] == {"enum": ["a", "b"], "default": "a"}
    assert slimmed["$defs"]["deep"]["properties"]["x"] == {"type": "number"}
    assert not slimmed.keys() & {"title", "x-vendor", "examples"}
    assert len(json.dumps(slimmed)) < 0.6 * len(json.dumps(SCHEMA))


@pytest.mark.parametrize("form", ["openai", "anthropic", "mcp"])
def test_every_form_is_slimmed_and_stays_what_it_is(form: str) -> None:
    document = ApiDocument("s/t/a", "s", "", "t", "a", description="Does it. And much more beside.")
    (whole,) = render_definitions([document], form)
    slimmed = slim_definition(whole)
    assert slimmed.keys() == whole.keys()
    assert "much more" not in json.dumps(slimmed)
    assert "Does it." in json.dumps(slimmed)


@pytest.mark.needs("data")
def test_real_definitions_stay_valid_schemas_and_only_lose(shared_data: Path) -> None:
    source = McpDumpSource(shared_data / "livemcp" / "servers.json")
    documents = [item for item in source.read() if isinstance(item, ApiDocument)]
    whole = render_definitions(documents, "mcp")
    slimmed = [slim_definition(definition) for definition in whole]
    for before, after in zip(whole, slimmed, strict=True):
        assert is_schema(after["inputSchema"]) == is_schema(before["inputSchema"])
        assert len(json.dumps(after)) <= len(json.dumps(before))
        assert after["inputSchema"].get("required") == before["inputSchema"].get("required")
    saved = 1 - sum(len(json.dumps(d)) for d in slimmed) / sum(len(json.dumps(d)) for d in whole)
    assert saved > 0.2


def test_a_description_without_an_end_is_clipped() -> None:
    slimmed = slim({"type": "object", "properties": {"a": {"description": "x" * 500}}})
    assert len(slimmed["properties"]["a"]["description"]) == MAX_FIELD
