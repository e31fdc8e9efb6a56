"""Operations of OpenAPI 3 and Swagger 2 descriptions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.definitions import render_definitions
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.openapi import METHODS, OpenApiSource

PETS: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pet Store", "version": "1.2"},
    "paths": {
        "/pets/{id}": {
            "parameters": [
                {
                    "name": "id",
                    "in": "path",
                    "required": True,
                    "schema": {"type": "string"},
                    "description": "Which.",
                },
                {"name": "trace", "in": "header", "schema": {"type": "string"}},
            ],
            "get": {
                "operationId": "getPet",
                "summary": "Get a pet.",
                "description": "Returns one pet.",
                "tags": ["pets", "read"],
                "parameters": [
                    {"name": "trace", "in": "header", "schema": {"type": "boolean"}},
                    {"$ref": "#/components/parameters/Fields"},
                ],
                "responses": {
                    "404": {"description": "No such pet."},
                    "200": {
                        "description": "The pet",
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}},
                    },
                },
            },
        },
    },
    "components": {
        "parameters": {
            "Fields": {
                "name": "fields",
                "in": "query",
                "schema": {"type": "array", "items": {"type": "string"}},
            }
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "id": {"type": "string", "readOnly": True},
                    "name": {"type": "string", "description": "What it is called."},
                    "parent": {"$ref": "#/components/schemas/Pet"},
                },
            }
        },
    },
}


def write(path: Path, value: object) -> Path:
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> list[ApiDocument | DeadLetter]:
    return list(OpenApiSource(path, "test").read())


def with_paths(paths: object, **changes: object) -> dict[str, Any]:
    return {**PETS, "paths": paths, **changes}


def read_all(tmp_path: Path, paths: object, **changes: object) -> list[ApiDocument]:
    found = read(write(tmp_path / "spec.json", with_paths(paths, **changes)))
    assert all(isinstance(item, ApiDocument) for item in found), found
    return [item for item in found if isinstance(item, ApiDocument)]


def read_one(tmp_path: Path, operation: object, **changes: object) -> ApiDocument:
    (document,) = read_all(tmp_path, {"/x": {"post": operation}}, **changes)
    return document


def body(schema: object, **more: object) -> dict[str, Any]:
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, **more}}


def test_an_operation_becomes_a_document(tmp_path: Path) -> None:
    (document,) = read_all(tmp_path, PETS["paths"])
    assert document == ApiDocument(
        id="test/Pet Store/getPet",
        source="test",
        category="pets",
        tool="Pet Store",
        api="getPet",
        description="Get a pet.\nReturns one pet.\nGET /pets/{id}",
        parameters=(
            Parameter("trace", "boolean"),
            Parameter("fields", "array of string"),
            Parameter("id", "string", required=True, description="Which."),
        ),
        returns="The pet: id, name, parent",
        tags=("pets", "read"),
        version="1.2",
        effect=Effect.READ,
        definition=document.definition,
        needs=("id=pet.id~9",),
        gives=("pet.name~9",),
    )


def test_the_definition_is_the_operation_as_it_stands_in_the_json_file(tmp_path: Path) -> None:
    odd = '{ "operationId" :"a",\n\t"x":  1.0e0, "y": "\\u00e9é\\/", "z": 123456789012345678901234567890}'
    path = write(tmp_path / "spec.json", f'{{"openapi":"3.1.0","paths":{{"/a~b/c":{{"get" : {odd} }} }} }}')
    (document,) = read(path)
    assert isinstance(document, ApiDocument)
    assert document.definition == odd


def test_the_definition_of_an_operation_in_yaml_is_rendered_as_json(tmp_path: Path) -> None:
    (document,) = read(write(tmp_path / "spec.yaml", yaml.safe_dump(PETS)))
    assert isinstance(document, ApiDocument)
    assert json.loads(document.definition) == PETS["paths"]["/pets/{id}"]["get"]


@pytest.mark.parametrize("name", ["spec.yaml", "spec.yml", "spec.json"])
def test_yaml_and_json_say_the_same(tmp_path: Path, name: str) -> None:
    text = json.dumps(PETS) if name.endswith("json") else yaml.safe_dump(PETS, sort_keys=False)
    (document,) = read(write(tmp_path / name, text))
    (expected,) = read_all(tmp_path, PETS["paths"])
    assert isinstance(document, ApiDocument)
    assert (document.id, document.parameters) == (expected.id, expected.parameters)
    assert document.returns == expected.returns


def test_yaml_with_anchors_merges_and_unquoted_dates_and_codes(tmp_path: Path) -> None:
    text = """
openapi: 3.0.0
info: {title: Dates, version: 2020-01-01}
paths:
  /a:
    get: &get
      parameters: [{name: since, in: query, schema: {type: string, example: 2020-01-01}}]
      responses: {200: {description: fine}}
    head: {<<: *get, summary: Like get}
"""
    get, head = read(write(tmp_path / "spec.yaml", text))
    assert isinstance(get, ApiDocument)
    assert isinstance(head, ApiDocument)
    assert get.version == "2020-01-01"
    assert get.parameters == head.parameters == (Parameter("since", "string"),)
    assert get.returns == "fine"


def test_swagger_2_has_its_body_and_types_elsewhere(tmp_path: Path) -> None:
    operation = {
        "operationId": "addPet",
        "parameters": [
            {"name": "kind", "in": "query", "type": "array", "items": {"type": "integer"}, "required": True},
            {"name": "photo", "in": "formData", "type": "file"},
            {"name": "pet", "in": "body", "schema": {"$ref": "#/definitions/Pet"}},
        ],
        "responses": {
            "201": {
                "description": "Made",
                "schema": {"type": "array", "items": {"$ref": "#/definitions/Pet"}},
            }
        },
    }
    swagger = {
        "swagger": "2.0",
        "definitions": {"Pet": {"properties": {"name": {"type": "string"}}, "required": ["name"]}},
        "paths": {"/x": {"post": operation}},
    }
    (document,) = read(write(tmp_path / "spec.json", swagger))
    assert isinstance(document, ApiDocument)
    assert document.parameters == (
        Parameter("kind", "array of integer", required=True),
        Parameter("photo", "file"),
        Parameter("name", "string", required=True),
    )
    assert document.returns == "Made: name"


def test_a_second_body_of_swagger_2_is_an_input_of_its_name(tmp_path: Path) -> None:
    def named(name: str, field: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "in": "body", "schema": {"properties": {field: {"type": "string"}}}, **more}

    item = {
        "parameters": [named("shared", "c")],
        "post": {"operationId": "own", "parameters": [named("one", "a"), named("two", "b", required=True)]},
        "put": {"operationId": "twice", "parameters": [named("one", "a"), named("one", "b")]},
        "patch": {"operationId": "inherited"},
    }
    own, twice, inherited = sorted(
        read(write(tmp_path / "spec.json", {"swagger": "2.0", "paths": {"/x": item}})),
        key=lambda each: ["own", "twice", "inherited"].index(each.api),
    )
    assert own.parameters == (Parameter("a", "string"), Parameter("two", "object", required=True))
    (definition,) = render_definitions([own], "mcp")
    assert definition["inputSchema"]["properties"]["two"]["properties"] == {"b": {"type": "string"}}
    assert twice.parameters == (Parameter("a", "string"),)
    assert inherited.parameters == (Parameter("c", "string"),)


def test_the_top_level_fields_of_a_body_are_parameters(tmp_path: Path) -> None:
    schema = {
        "allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"tag": {"type": ["string", "null"]}}}]
    }
    assert read_one(tmp_path, body(schema)).parameters == (
        Parameter("name", "string", required=True, description="What it is called."),
        Parameter("parent", "object"),
        Parameter("tag", "string|null"),
    )


def test_a_body_that_is_no_object_is_one_parameter(tmp_path: Path) -> None:
    document = read_one(
        tmp_path, body({"type": "array", "items": {"type": "string"}}, required=True, description="Names.")
    )
    assert document.parameters == (Parameter("body", "array of string", required=True, description="Names."),)


def test_a_body_of_several_media_types_is_read_as_json(tmp_path: Path) -> None:
    content = {
        "text/plain": {"schema": {"type": "string"}},
        "application/vnd.x+json": {"schema": {"properties": {"a": {}}}},
    }
    assert read_one(tmp_path, {"requestBody": {"content": content}}).parameters == (Parameter("a"),)


def test_fields_that_only_another_media_type_has_are_optional(tmp_path: Path) -> None:
    content = {
        "multipart/form-data": {
            "schema": {"properties": {"file": {"type": "string"}, "title": {}}, "required": ["file"]}
        },
        "application/json": {"schema": {"properties": {"title": {"type": "string"}}, "required": ["title"]}},
    }
    document = read_one(tmp_path, {"requestBody": {"content": content}})
    assert document.parameters == (Parameter("title", "string", required=True), Parameter("file", "string"))


def test_a_parameter_counts_once_and_headers_described_elsewhere_not_at_all(tmp_path: Path) -> None:
    declared = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "id", "in": "query", "schema": {"type": "integer"}},
        {"name": "Authorization", "in": "header"},
        {"name": "accept", "in": "header"},
        {"name": "q", "in": "query", "content": {"application/json": {"schema": {"type": "object"}}}},
    ]
    document = read_one(
        tmp_path, {"parameters": declared, **body({"properties": {"id": {"type": "number"}}})}
    )
    assert document.parameters == (
        Parameter("id", "string", required=True),
        Parameter("id_in_query", "integer", description="(sent as 'id' in the query)"),
        Parameter("q", "object"),
        Parameter("id_in_body", "number", description="(sent as 'id' in the body)"),
    )


def test_what_has_no_name_is_left_out_and_told(tmp_path: Path) -> None:
    declared = [{"name": "", "in": "query"}, "odd", {"in": "header"}, {"name": "q", "in": "query"}]
    body_of_path = [{"in": "body", "schema": {}}]
    spec = {"/x": {"get": {"parameters": declared}, "parameters": body_of_path}, "/y": {"get": {}}}
    letter, *found = read(write(tmp_path / "spec.json", with_paths(spec)))
    assert [each.api for each in found if isinstance(each, ApiDocument)] == ["GET /x", "GET /y"]
    assert isinstance(letter, DeadLetter)
    assert letter.position.endswith("#/paths/~1x/get/parameters")
    assert letter.reason == "2 of its parameters have no name: what nobody can give is left out"


@pytest.mark.parametrize(
    ("method", "effect"),
    [
        *((method, Effect.READ) for method in ("get", "head", "options", "trace", "query")),
        *((method, Effect.WRITE) for method in ("post", "put", "patch")),
        ("delete", Effect.DESTRUCTIVE),
    ],
)
def test_the_effect_is_that_of_the_method(tmp_path: Path, method: str, effect: Effect) -> None:
    (document,) = read_all(tmp_path, {"/x": {method: {}}})
    assert document.effect is effect


def test_an_operation_without_an_id_is_called_by_its_method_and_path(tmp_path: Path) -> None:
    document = read_one(tmp_path, {"summary": "Makes one"})
    assert document.api == "POST /x"
    assert document.id == "test/Pet Store/POST %2Fx"
    assert document.description == "Makes one"


def test_equal_operation_ids_are_told_apart(tmp_path: Path) -> None:
    paths = {f"/{name}": {"get": {"operationId": "list"}} for name in "abc"}
    assert [d.api for d in read_all(tmp_path, paths)] == ["list", "list (GET /b)", "list (GET /c)"]


def test_a_name_that_cannot_be_told_apart_is_a_dead_letter(tmp_path: Path) -> None:
    ids = {"/a": "GET /d", "/b": "GET /d (GET /d)", "/d": ""}
    paths = {path: {"get": {"operationId": name}} for path, name in ids.items()}
    *_, letter = read(write(tmp_path / "spec.json", with_paths(paths)))
    assert isinstance(letter, DeadLetter)
    assert "another operation is called 'GET /d'" in letter.reason


def test_a_deprecated_operation_says_so(tmp_path: Path) -> None:
    assert read_one(tmp_path, {"deprecated": True}).deprecated
    assert not read_one(tmp_path, {"deprecated": "no"}).deprecated


def test_the_category_is_the_directorys_or_else_the_first_tag(tmp_path: Path) -> None:
    info = {**PETS["info"], "x-apisguru-categories": ["animals", "shops"]}
    assert read_one(tmp_path, {"tags": ["pets"]}, info=info).category == "animals"
    assert read_one(tmp_path, {"tags": ["pets"]}).category == "pets"
    assert read_one(tmp_path, {}).category == ""


def test_text_of_the_path_stands_in_for_the_operations(tmp_path: Path) -> None:
    paths = {
        "/x": {"summary": "All about x", "description": "", "get": {"operationId": "x", "description": None}}
    }
    (document,) = read_all(tmp_path, paths)
    assert document.description == "All about x\nGET /x"


def test_a_success_is_the_lowest_2xx_or_else_the_default(tmp_path: Path) -> None:
    def returns(**responses: str) -> str:
        listed = {code.strip("_"): {"description": text} for code, text in responses.items()}
        return read_one(tmp_path, {"responses": listed}).returns

    assert returns(_204="none", _200="all", default="?") == "all"
    assert returns(_2XX="any", _400="bad") == "any"
    assert returns(_400="bad", default="else") == "else"
    assert returns(_400="bad") == ""


def test_a_path_may_be_a_reference_and_keeps_its_definition(tmp_path: Path) -> None:
    components = {"pathItems": {"One": {"$ref": "#/x-shared/0/a~1b"}}}
    shared = [{"a/b": {"get": {"operationId": "one"}}}]
    (document,) = read_all(
        tmp_path,
        {"/x": {"$ref": "#/components/pathItems/One"}},
        components=components,
        **{"x-shared": shared},
    )
    assert document.description == "GET /x"
    assert json.loads(document.definition) == {"operationId": "one"}


@pytest.mark.parametrize(
    "reference",
    ["https://example.com/paths.json#/x", "../other.yaml", "#/paths/~1x", "#/nowhere", "file:///etc/passwd"],
)
def test_a_path_elsewhere_is_a_dead_letter_and_never_fetched(tmp_path: Path, reference: str) -> None:
    write(tmp_path.parent / "other.yaml", "get: {operationId: secret}")
    paths = {"/x": {"$ref": reference}, "/y": {"get": {}}}
    letter, document = read(write(tmp_path / "spec.json", with_paths(paths)))
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{tmp_path}/spec.json#/paths/~1x"
    assert letter.reason.startswith(f"unresolved reference {reference}")
    assert ("ingest a folder that holds both files" in letter.reason) == (reference == "../other.yaml")
    assert reference in letter.excerpt
    assert isinstance(document, ApiDocument)


def test_parameters_and_bodies_elsewhere_are_noted(tmp_path: Path) -> None:
    operation = {
        "parameters": [
            {"$ref": "common.yaml#/parameters/Page"},
            {"name": "q", "in": "query", "schema": {"$ref": "#/gone"}},
        ],
        "requestBody": {"$ref": "https://example.com/body"},
        "responses": {"200": {"$ref": "#/gone"}},
    }
    assert read_one(tmp_path, operation).parameters == (
        Parameter("Page", description="unresolved reference common.yaml#/parameters/Page"),
        Parameter("q", description="unresolved reference #/gone"),
        Parameter("body", description="unresolved reference https://example.com/body"),
    )


def test_a_schema_that_contains_itself_ends(tmp_path: Path) -> None:
    schemas = {
        "A": {
            "allOf": [{"$ref": "#/components/schemas/B"}],
            "properties": {"a": {"$ref": "#/components/schemas/A"}},
        },
        "B": {"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/C"}]},
        "C": {"$ref": "#/components/schemas/C"},
    }
    document = read_one(tmp_path, body({"$ref": "#/components/schemas/A"}), components={"schemas": schemas})
    assert document.parameters == (Parameter("a", "object"),)


def test_ten_thousand_parameters_come_out(tmp_path: Path) -> None:
    many = [{"name": f"p{n}", "in": "query", "schema": {"type": "string"}} for n in range(10_000)]
    assert len(read_one(tmp_path, {"parameters": many}).parameters) == 10_000


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("text", "an operation must be an object"),
        ({"description": "x" * 50_000_000}, "the limit is"),
        ({"summary": "a\0b"}, "NUL"),
        ({"summary": "a\ud800b"}, "NUL character or a lone surrogate"),
    ],
    ids=["no object", "50 MB", "NUL", "lone surrogate"],
)
def test_a_bad_operation_costs_only_itself(tmp_path: Path, operation: object, reason: str) -> None:
    paths = {"/bad": {"get": operation}, "/good": {"get": {"operationId": "good"}}, "/worse": ["no object"]}
    letter, document, worse = read(write(tmp_path / "spec.json", with_paths(paths)))
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{tmp_path}/spec.json#/paths/~1bad/get"
    assert reason in letter.reason
    assert isinstance(document, ApiDocument)
    assert isinstance(worse, DeadLetter)
    assert worse.reason == "a path must be an object"


@pytest.mark.parametrize("value", [None, 7, "text", [], [7], {}, {"$ref": 7}, {"a": None}, True])
@pytest.mark.parametrize(
    "key", ["parameters", "requestBody", "responses", "tags", "summary", "operationId", "deprecated"]
)
def test_a_field_of_the_wrong_type_does_no_harm(tmp_path: Path, key: str, value: object) -> None:
    assert read_one(tmp_path, {"operationId": "x", key: value}).tool == "Pet Store"


def test_extensions_among_the_paths_and_methods_are_passed_over(tmp_path: Path) -> None:
    assert read_all(tmp_path, {"x-note": "text", "/x": {"x-get": 1, "servers": [], "summary": "s"}}) == []


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.json", "{", "JSON"),
        ("a.json", "openapi: 3.0.0", "JSON"),
        ("a.json", "[" * 100_000, "got `array`"),
        ("a.json", '{"openapi": "3.0.0", "paths": ' + '{"a":' * 100_000 + "}" * 100_001, "nested too deeply"),
        ("a.yaml", "openapi: [", "YAML"),
        ("a.yaml", "- a", "must be a mapping"),
        ("a.yaml", "", "must be a mapping"),
        ("a.yaml", "{" * 100_000, "nested deeper"),
        ("a.json", '{"swagger": "1.2"}', "version '1.2'"),
        ("a.json", '{"name": "package"}', "neither the key"),
        ("a.json", '{"openapi": "3.0.0", "paths": []}', "paths must be an object"),
    ],
)
def test_a_file_that_is_no_description_is_an_error(tmp_path: Path, name: str, text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read(write(tmp_path / name, text))


def test_a_file_that_is_too_large_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "spec.json", PETS)
    with pytest.raises(SourceError, match="larger than 100 bytes"):
        list(OpenApiSource(path, max_file_bytes=100).read())


@pytest.mark.parametrize("path", ["nothing.json", "*.json", "empty"])
def test_nothing_there_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError):
        read(tmp_path / path)


def test_files_of_a_folder_are_read_in_order_and_a_bad_one_costs_only_itself(tmp_path: Path) -> None:
    write(tmp_path / "b.yaml", yaml.safe_dump(PETS))
    write(tmp_path / "a/pets.json", PETS)
    write(tmp_path / "a/broken.json", "{")
    write(tmp_path / "notes.txt", "not read")
    broken, first, second = read(tmp_path)
    assert isinstance(broken, DeadLetter)
    assert broken.position == f"{tmp_path}/a/broken.json"
    assert isinstance(first, ApiDocument)
    assert isinstance(second, ApiDocument)
    assert (first.id, second.id) == ("test/a/pets.json/getPet", "test/b.yaml/getPet")
    assert (first.tool, second.tool) == ("Pet Store", "Pet Store (b.yaml)")


def test_equal_titles_are_told_apart_by_service_then_provider(tmp_path: Path) -> None:
    for name, more in (
        ("a", {}),
        ("b", {"x-serviceName": "eu"}),
        ("c", {"x-providerName": "pets.com"}),
        ("d", {}),
    ):
        write(tmp_path / f"{name}.json", {**PETS, "info": {**PETS["info"], **more}})
    tools = [item.tool for item in read(tmp_path) if isinstance(item, ApiDocument)]
    assert tools == ["Pet Store", "Pet Store (eu)", "Pet Store (pets.com)", "Pet Store (d.json)"]


def test_a_description_without_a_title_is_called_after_its_provider_or_its_file(tmp_path: Path) -> None:
    assert read_one(tmp_path, {}, info={"title": " ", "x-providerName": "pets.com"}).tool == "pets.com"
    assert read_one(tmp_path, {}, info=None).tool == "spec"


def test_a_pattern_picks_files(tmp_path: Path) -> None:
    write(tmp_path / "one/openapi.json", PETS)
    write(tmp_path / "two/openapi.json", PETS)
    write(tmp_path / "two/other.json", PETS)
    found = [item.id for item in read(tmp_path / "*" / "openapi.json") if isinstance(item, ApiDocument)]
    assert found == ["test/one/openapi.json/getPet", "test/two/openapi.json/getPet"]


def test_every_method_is_read(tmp_path: Path) -> None:
    assert len(read_all(tmp_path, {"/x": {method: {} for method in METHODS}})) == len(METHODS)


def places(tmp_path: Path, path: str, parameters: list[dict[str, Any]]) -> list[tuple[str, bool]]:
    paths = {path: {"get": {"summary": "Reads it", "parameters": parameters}}}
    text = {"openapi": "3.0.3", "info": {"title": "Crates"}, "paths": paths}
    (tmp_path / "crates.json").write_text(json.dumps(text))
    (document,) = OpenApiSource(tmp_path / "crates.json", "crates").read()
    assert isinstance(document, ApiDocument)
    return [(each.name, each.required) for each in document.parameters]


def test_a_place_of_the_path_that_nothing_describes_is_an_input(tmp_path: Path) -> None:
    box = {"name": "box", "in": "path", "required": True, "schema": {"type": "integer"}}
    assert places(tmp_path, "/halls/{hall}/boxes/{box}", [box]) == [("box", True), ("hall", True)]


def test_a_place_that_is_described_under_another_name_is_no_second_input(tmp_path: Path) -> None:
    box = {"name": "boxId", "in": "path", "required": True, "schema": {"type": "integer"}}
    assert places(tmp_path, "/boxes/{box}", [box]) == [("boxId", True)]


def test_a_media_type_may_be_a_reference_or_a_sequence_of_items(tmp_path: Path) -> None:
    named = {"schema": {"type": "object", "properties": {"colour": {"enum": ["red", "blue"]}}}}
    item = {"type": "object", "properties": {"crateId": {"type": "string"}}}
    store = {
        "summary": "Stores crates",
        "requestBody": {"content": {"application/json": {"$ref": "#/components/mediaTypes/Crate"}}},
        "responses": {
            "200": {"description": "Crates", "content": {"application/jsonl": {"itemSchema": item}}}
        },
    }
    text = {
        "openapi": "3.2.0",
        "info": {"title": "Crates"},
        "paths": {"/crates": {"post": store}},
        "components": {"mediaTypes": {"Crate": named}},
    }
    (tmp_path / "crates.json").write_text(json.dumps(text))
    (document,) = OpenApiSource(tmp_path / "crates.json", "crates").read()
    assert isinstance(document, ApiDocument)
    assert [each.name for each in document.parameters] == ["colour"]
    assert document.returns == "Crates: crateId"
