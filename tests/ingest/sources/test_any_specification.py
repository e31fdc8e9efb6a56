"""Whatever a description holds, its reader answers with valid documents, dead letters or a SourceError."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import examples

from kitpick_engines.document import ApiDocument, encode_document, validate_document
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import MAX_EXCERPT, DeadLetter, Source
from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource
from kitpick_ingest.sources.openapi import OpenApiSource

WORDS = """
type properties items allOf oneOf required description name schema content application/json $ref 200 x a~b/c
"""
KEYS = st.sampled_from(WORDS.split())
REFERENCES = st.sampled_from(["#", "#/", "#/paths/~1a", "#/components/schemas/x", "x.json", "#a", "//["])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=5) | REFERENCES | KEYS
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(KEYS, v, max_size=4), max_leaves=15
)


def mostly(expected: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What belongs there, and now and then anything at all."""
    return st.integers(0, 9).flatmap(lambda n: VALUES if n == 0 else expected)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """An object in which any of the fields may be absent, or something else."""
    return st.fixed_dictionaries({}, optional={name: mostly(value) for name, value in fields.items()})


def named(
    values: st.SearchStrategy[Any], names: tuple[str, ...] = ("x", "a~b/c", "")
) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(names), values, max_size=3)


NAMES = st.text(min_size=1, max_size=4)
REFERENCE = st.fixed_dictionaries({"$ref": REFERENCES})
SCHEMA = st.recursive(
    VALUES | REFERENCE,
    lambda s: record(
        type=st.just("object"),
        properties=named(s),
        allOf=st.lists(s, max_size=2),
        required=st.just(["x"]),
        items=s,
    ),
    max_leaves=6,
)
CONTENT = record(
    description=NAMES, content=st.fixed_dictionaries({"application/json": record(schema=SCHEMA)})
)
PARAMETER = record(name=NAMES, schema=SCHEMA, description=NAMES, **{"in": st.sampled_from(["query", "body"])})
OPERATION = record(
    operationId=NAMES,
    summary=NAMES,
    tags=st.lists(NAMES, max_size=2),
    parameters=st.lists(mostly(PARAMETER | REFERENCE), max_size=3),
    requestBody=CONTENT | REFERENCE,
    responses=named(mostly(CONTENT | REFERENCE), ("200", "404", "default")),
)
PATH = mostly(named(mostly(OPERATION), ("get", "post", "parameters")) | REFERENCE)
OPENAPI = st.fixed_dictionaries(
    {"openapi": st.just("3.1.0"), "paths": mostly(named(PATH, ("/a", "/b/{c}", "x-y", "")))},
    optional={"info": record(title=NAMES, version=NAMES), "components": record(schemas=named(SCHEMA))},
)
FIELD = record(type=NAMES, description=NAMES, required=st.booleans(), **{"$ref": st.just("x")})
METHOD = st.fixed_dictionaries(
    {"id": mostly(NAMES)},
    optional={"httpMethod": NAMES, "parameters": named(mostly(FIELD)), "request": mostly(FIELD)},
)
METHODS = mostly(named(mostly(METHOD)))
GOOGLE = st.fixed_dictionaries(
    {"kind": st.just("discovery#restDescription"), "methods": METHODS},
    optional={"resources": named(record(methods=METHODS)), "title": NAMES, "id": NAMES},
)
CASES = [
    pytest.param(OpenApiSource, OPENAPI, "a.json", json.dumps, id="OpenAPI in JSON"),
    pytest.param(OpenApiSource, OPENAPI, "a.yaml", yaml.dump, id="OpenAPI in YAML"),
    pytest.param(OpenApiSource, VALUES, "a.yaml", json.dumps, id="JSON called YAML"),
    pytest.param(GoogleDiscoverySource, GOOGLE, "a.json", json.dumps, id="Google discovery"),
]


@pytest.mark.parametrize(("reader", "specifications", "name", "dump"), CASES)
@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_description_gives_valid_documents_dead_letters_or_a_source_error(
    tmp_path: Path,
    reader: Callable[[Path], Source],
    specifications: st.SearchStrategy[Any],
    name: str,
    dump: Callable[[Any], str],
    data: st.DataObject,
) -> None:
    path = tmp_path / name
    text = dump(data.draw(specifications))
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for item in read_or_refuse(reader(path)):
        if isinstance(item, ApiDocument):
            assert validate_document(item) is item
            msgspec.json.decode(item.definition)
            assert name.endswith("yaml") or item.definition in text
        else:
            msgspec.json.encode(item)
            assert item.position
            assert item.reason
            assert len(item.excerpt) <= MAX_EXCERPT


@given(description=OPENAPI)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reading_twice_gives_the_same_bytes(tmp_path: Path, description: dict[str, Any]) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(description), encoding="utf-8")
    first, second = (read_or_refuse(OpenApiSource(path)) for _ in range(2))
    assert [encode(item) for item in first] == [encode(item) for item in second]


@given(content=st.binary(max_size=200))
@settings(
    max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@pytest.mark.parametrize("name", ["a.json", "a.yaml"])
def test_any_bytes_are_refused(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    for reader in (OpenApiSource, GoogleDiscoverySource):
        with pytest.raises(SourceError):
            list(reader(path).read())


def read_or_refuse(source: Source) -> list[ApiDocument | DeadLetter]:
    try:
        return list(source.read())
    except SourceError:
        return []


def encode(item: ApiDocument | DeadLetter) -> bytes:
    return encode_document(item) if isinstance(item, ApiDocument) else msgspec.json.encode(item)
