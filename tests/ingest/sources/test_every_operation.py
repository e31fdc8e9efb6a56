"""Every operation of a description comes out, or a dead letter names its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_engines.document import ApiDocument, Effect
from kitpick_ingest.errors import SourceError
from kitpick_ingest.source import DeadLetter, Remark
from kitpick_ingest.sources.google_discovery import GoogleDiscoverySource
from kitpick_ingest.sources.mcp_dump import McpDumpSource
from kitpick_ingest.sources.openapi import OpenApiSource

HEAD = 'openapi: 3.2.0\ninfo: {title: Depot, version: "1"}\n'
Found = tuple[dict[str, ApiDocument], dict[str, str]]


def read(path: Path) -> Found:
    """Documents by name, and reasons of dead letters by place."""
    documents, letters = {}, {}
    for item in OpenApiSource(path, "test").read():
        if isinstance(item, DeadLetter):
            letters[item.position.rpartition("/")[0] and item.position.partition("#")[2]] = item.reason
        else:
            documents[item.api] = item
    return documents, letters


def files(folder: Path, **texts: str) -> Path:
    """Writes `name: text` as files, `__` for a folder; the first one is returned."""
    paths = []
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        paths.append(path)
    return paths[0]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("/paths/~1a", '{"paths": {"/a": {"get": {}}, "/a": {"post": {}}}}'),
        ("/paths/~1a/get", '{"paths": {"/a": {"get": {}, "get": {"operationId": "b"}}}}'),
        ("/paths/~1a/get/parameters", '{"paths": {"/a": {"get": {"parameters": [], "parameters": []}}}}'),
        ("/paths", '{"paths": {"/b": {"get": {}}}, "paths": {"/a": {"get": {}}}}'),
        ("/paths/~1a", '{"paths": {"/a": {"get": {}}, "/\\u0061": {"post": {}}}}'),
    ],
)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_what_a_repeated_key_hides_is_named(tmp_path: Path, place: str, text: str, suffix: str) -> None:
    file = tmp_path / f"spec.{suffix}"
    file.write_text(text.replace("{", '{"openapi": "3.0.3", "info": {"title": "D"}, ', 1))
    documents, letters = read(file)
    assert len(documents) == 1
    assert list(letters) == [place]
    assert "stands more than once" in letters[place]


def test_a_key_that_a_merge_repeats_is_none(tmp_path: Path) -> None:
    text = "x-a: &a {get: {operationId: a}}\npaths: {/a: {<<: *a, get: {operationId: b}}}\n"
    documents, letters = read(files(tmp_path, spec=HEAD + text))
    assert (list(documents), letters) == (["b"], {})


def test_repeated_keys_of_other_sources_are_named(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(
        '{"tools": [{"name": "a", "inputSchema": {}}], "tools": [{"name": "b", "inputSchema": {}}]}'
    )
    letter, tool = McpDumpSource(tools).read()
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{tools}#/tools"
    assert isinstance(tool, ApiDocument)
    discovery = tmp_path / "depot.json"
    methods = '{"list": {"id": "depot.list"}, "list": {"id": "depot.get"}}'
    discovery.write_text(f'{{"kind": "discovery#restDescription", "name": "depot", "methods": {methods}}}')
    letter, _ = GoogleDiscoverySource(discovery).read()
    assert isinstance(letter, DeadLetter)
    assert letter.position == f"{discovery}#/methods/list"


def test_operations_beside_a_reference_come_out_with_those_it_leads_to(tmp_path: Path) -> None:
    text = """
paths:
  /a:
    $ref: '#/components/pathItems/A'
    parameters: [{name: own, in: query}]
    get: {operationId: own}
components: {pathItems: {A: {post: {operationId: shared}, parameters: [
  {name: theirs, in: query}, {name: own, in: query, description: not this one}]}}}
"""
    documents, letters = read(files(tmp_path, spec=HEAD + text))
    assert sorted(documents) == ["own", "shared"]
    for document in documents.values():
        assert [(p.name, p.description) for p in document.parameters] == [("own", ""), ("theirs", "")]
    assert letters == {}


@pytest.mark.parametrize(("length", "through"), [(40, "/y"), (2_000, "/y"), (2_000, "")])
def test_a_chain_of_references_without_end_is_told(tmp_path: Path, length: int, through: str) -> None:
    target = "#/components/pathItems/I{}" + through
    items = {f"I{n}": {"$ref": target.format(n + 1)} for n in range(length)}
    text = {
        "paths": {"/a": {"$ref": target.format(0)}, "/b": {"get": {}}},
        "components": {"pathItems": items},
    }
    documents, letters = read(files(tmp_path, spec=HEAD + yaml.safe_dump(text)))
    assert list(documents) == ["GET /b"]
    assert letters["/paths/~1a"].startswith("unresolved reference")


def test_a_path_that_leads_to_itself_keeps_its_own_operations(tmp_path: Path) -> None:
    documents, letters = read(files(tmp_path, spec=HEAD + "paths: {/a: {$ref: '#/paths/~1a', get: {}}}\n"))
    assert list(documents) == ["GET /a"]
    assert letters == {"/paths/~1a": "unresolved reference #/paths/~1a"}


def test_methods_of_openapi_3_2_come_out(tmp_path: Path) -> None:
    text = "paths: {/a: {query: {}, additionalOperations: {COPY: {}, Merge: {operationId: merge}}}}\n"
    documents, letters = read(files(tmp_path, spec=HEAD + text))
    effects = {name: document.effect for name, document in documents.items()}
    assert effects == {"QUERY /a": Effect.READ, "COPY /a": Effect.UNKNOWN, "merge": Effect.UNKNOWN}
    assert documents["merge"].description == "MERGE /a"
    assert letters == {}


def test_keys_that_are_no_methods_are_named_and_methods_in_capitals_read(tmp_path: Path) -> None:
    text = "paths: {/a: {GET: {}, copy: {}, additionalOperations: [], x-more: {}, summary: s, servers: []}}\n"
    documents, letters = read(files(tmp_path, spec=HEAD + text))
    assert list(documents) == ["GET /a"]
    assert set(letters) == {"/paths/~1a/copy", "/paths/~1a/additionalOperations"}


def test_calls_that_the_api_makes_are_told_and_cost_nothing(tmp_path: Path) -> None:
    back = "callbacks: {done: {'{$request.body#/url}': {post: {operationId: b}}}, late: {$ref: '#/x'}}"
    text = f"""
paths: {{/a: {{post: {{operationId: a, {back}}}}}, /c: {{put: {{operationId: c, {back}}}}}}}
webhooks: {{new: {{post: {{operationId: d}}}}}}
"""
    path = files(tmp_path, spec=HEAD + text)
    documents, letters = read(path)
    assert list(documents) == ["a", "c"]
    assert '"operationId":"b"' in documents["a"].definition
    assert letters == {
        "/webhooks": "1 webhook is no tool: it is a call that the API itself makes",
        "/paths/~1a/post/callbacks": "4 callbacks are no tools: they are calls that the API itself makes",
    }
    found = [item for item in OpenApiSource(path, "test").read() if isinstance(item, DeadLetter)]
    assert {type(item) for item in found} == {Remark}


def test_inputs_whose_names_yaml_reads_as_numbers_come_out(tmp_path: Path) -> None:
    named = "[{name: 7, in: query}, {name: 1.5, in: query}, {name: true, in: query}, {name: on, in: header}]"
    documents, letters = read(
        files(tmp_path, spec=HEAD + f"paths: {{/a: {{get: {{parameters: {named}}}}}}}\n")
    )
    assert [each.name for each in documents["GET /a"].parameters] == ["7", "1.5", "true", "on"]
    assert letters == {}


def test_a_description_without_paths_is_refused_but_as_a_part_it_is_one(tmp_path: Path) -> None:
    parts = "components: {schemas: {Box: {properties: {width: {type: integer}}}}}\n"
    body = "{content: {application/json: {schema: {$ref: 'parts.yaml#/components/schemas/Box'}}}}"
    whole = f"paths: {{/a: {{post: {{requestBody: {body}}}}}}}\n"
    files(tmp_path, spec=HEAD + whole, parts=HEAD + parts)
    (document,) = OpenApiSource(tmp_path, "test").read()
    assert isinstance(document, ApiDocument)
    assert [each.name for each in document.parameters] == ["width"]
    with pytest.raises(SourceError, match="describes no operations: it has no paths"):
        list(OpenApiSource(tmp_path / "parts.yaml", "test").read())


@pytest.mark.parametrize("reference", ["", "[a]", "null"])
def test_a_reference_that_is_none_is_named(tmp_path: Path, reference: str) -> None:
    text = f"paths: {{/a: {{$ref: {reference or repr('')}, get: {{}}}}, $batch: {{post: {{}}}}}}\n"
    documents, letters = read(files(tmp_path, spec=HEAD + text))
    assert sorted(documents) == ["GET /a", "POST $batch"]
    assert letters == {"/paths/~1a": "its $ref is no reference"}


SPLIT = {
    "spec": HEAD + "paths: {$ref: paths.yaml}\ncomponents: {schemas: {$ref: schemas/all.yaml}}\n",
    "paths": "/a: {$ref: 'paths/a.yaml'}\n/b: {get: {$ref: 'paths/a.yaml#/get'}}\n",
    "paths__a": "get: {summary: A}\npost: {requestBody: {content: {application/json: {schema:"
    " {$ref: '../schemas/all.yaml#/Box'}}}}}\n",
    "schemas__all": "Box: {properties: {wide: {$ref: '#/Size'}, deep: {$ref: 'size.yaml'}}}\n"
    "Size: {type: integer, description: Of the file itself}\n",
    "schemas__size": "{type: number, description: Of a file beside}\n",
}


def test_a_description_is_read_from_all_its_files(tmp_path: Path) -> None:
    documents, letters = read(files(tmp_path, **SPLIT))
    assert sorted(documents) == ["GET /a", "GET /b", "POST /a"]
    described = [(p.name, p.type, p.description) for p in documents["POST /a"].parameters]
    assert described == [
        ("wide", "integer", "Of the file itself"),
        ("deep", "number", "Of a file beside"),
    ]
    assert letters == {}


def test_parts_in_a_folder_of_descriptions_are_no_dead_letters_but_other_files_are(tmp_path: Path) -> None:
    files(tmp_path, **{f"depot__{name}": text for name, text in SPLIT.items()}, other="a: 1\n")
    letters = [item for item in OpenApiSource(tmp_path, "test").read() if isinstance(item, DeadLetter)]
    assert [letter.position for letter in letters] == [f"{tmp_path}/other.yaml"]


def test_a_changed_part_changes_the_fingerprint(tmp_path: Path) -> None:
    source = OpenApiSource(files(tmp_path, **SPLIT), "test")
    before = source.fingerprint()
    (tmp_path / "schemas" / "size.yaml").write_text("{type: string}\n")
    assert source.fingerprint() != before


@pytest.mark.parametrize(
    "reference",
    [
        r'{"$ref": "parts\/my crate.yaml#\/Box"}',
        "{$ref: 'parts/my crate.yaml#/Box'}",
        "{$ref: parts/my%20crate.yaml#/Box}",
        "{\"$ref\": 'parts/my crate.yaml'}",
        "\n    $ref: >-\n      parts/my%20crate.yaml#/Box",
        "\n    $ref: |\n      parts/my%20crate.yaml#/Box",
    ],
)
def test_however_a_part_is_written_its_changes_are_seen(tmp_path: Path, reference: str) -> None:
    spec = files(tmp_path, spec=HEAD + f"paths: {{}}\nx-box:\n  one: {reference}\n", parts__x="a: 1\n")
    part = tmp_path / "parts" / "my crate.yaml"
    part.write_text("Box: {type: string}\n")
    before = OpenApiSource(spec, "test").fingerprint()
    part.write_text("Box: {type: integer}\n")
    assert OpenApiSource(spec, "test").fingerprint() != before


def test_a_part_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path) -> None:
    text = f"paths:\n{_posted('box', '{$ref: bad.yaml#/Box}')}\n  /b: {{$ref: worse.json}}\n"
    spec = files(tmp_path, spec=HEAD + text, bad="Box: [\n")
    (tmp_path / "worse.json").write_text('{"get": }')
    _, letters = read(spec)
    assert letters["/paths/~1b"].startswith("unresolved reference worse.json: cannot be parsed as JSON")
    told = [item for item in OpenApiSource(spec, "test").read() if isinstance(item, DeadLetter)]
    assert [each.reason.partition(" at line")[0] for each in told if each.position == str(spec)] == [
        "refers to bad.yaml: cannot be parsed as YAML: while parsing a flow node did not find expected node "
        "content"
    ]


def test_files_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    outside = "get: {operationId: secret}\n"
    spec = files(
        tmp_path, depot__spec=HEAD + "paths: {/a: {$ref: ../a.yaml}, /b: {$ref: b.yaml}}\n", a=outside
    )
    (tmp_path / "depot" / "b.yaml").symlink_to(tmp_path / "a.yaml")
    documents, letters = read(spec)
    assert documents == {}
    assert set(letters) == {"/paths/~1a", "/paths/~1b"}
    assert f"not in the folder {spec.parent}" in letters["/paths/~1a"]


def test_files_outside_the_folder_are_named_with_the_cure(tmp_path: Path) -> None:
    text = "paths: {/a: {get: {parameters: [{$ref: '../../etc/all.yaml#/key'}]}}}\n"
    spec = files(tmp_path, depot__spec=HEAD + text)
    document, letter = OpenApiSource(spec, "test").read()
    assert isinstance(document, ApiDocument)
    assert isinstance(letter, DeadLetter)
    assert letter.position == str(spec)
    assert letter.reason == (
        f"refers to ../../etc/all.yaml: not in the folder {spec.parent}, so it is not read "
        "(ingest a folder that holds both files)"
    )


def _posted(name: str, schema: str) -> str:
    body = f"{{content: {{application/json: {{schema: {schema}}}}}}}"
    return f"  /{name}: {{post: {{operationId: {name}, requestBody: {body}}}}}\n"


NAMED = f"""$self: https://d/spec
paths:
{_posted("anchor", "{$ref: '#crate'}")}
{_posted("id", "{$ref: 'https://d/box'}")}
{_posted("within", "{$ref: 'https://d/box#in'}")}
{_posted("pointer", "{$ref: 'https://d/box#/$defs/In'}")}
{_posted("self", "{$ref: 'https://d/spec#/components/schemas/Crate'}")}
{_posted("dynamic", "{$dynamicRef: '#crate'}")}
components:
  schemas:
    Crate: {{$anchor: crate, properties: {{weight: {{type: number}}}}}}
    Box:
      $id: https://d/box
      properties: {{width: {{$ref: '#/$defs/Width'}}}}
      $defs:
        Width: {{type: integer}}
        In: {{$anchor: in, properties: {{depth: {{$ref: text}}}}}}
        Text: {{$id: text, type: string}}
"""


def test_anchors_and_ids_are_followed(tmp_path: Path) -> None:
    documents, _ = read(files(tmp_path, spec=HEAD + NAMED))
    inputs = {name: [(p.name, p.type) for p in each.parameters] for name, each in documents.items()}
    assert inputs == {
        "anchor": [("weight", "number")],
        "id": [("width", "integer")],
        "within": [("depth", "string")],
        "pointer": [("depth", "string")],
        "self": [("weight", "number")],
        "dynamic": [("weight", "number")],
    }


# An oracle that shares no code with the reader: it counts what stands in the text of a description.

_METHODS = st.sampled_from(["get", "put", "post", "delete", "patch", "query", "GET", "Post"])
_PATHS = st.lists(
    st.tuples(
        st.sampled_from(["/a", "/b", "/a/{id}", "/c~d", "/e%2Ff"]),
        st.lists(_METHODS, max_size=4),
        st.lists(st.sampled_from(["COPY", "MERGE"]), max_size=2),
    ),
    max_size=6,
)


def description(paths: list[tuple[str, list[str], list[str]]]) -> str:
    lines = ["openapi: 3.2.0", "info: {title: D, version: '1'}", "paths:" if paths else "paths: {}"]
    for path, methods, others in paths:
        lines += [f"  {path}:", "    summary: s", *(f"    {method}: {{summary: s}}" for method in methods)]
        lines += ["    additionalOperations:"] if others else []
        lines += [f"      {method}: {{summary: s}}" for method in others]
    return "\n".join(lines) + "\n"


def standing(text: str) -> list[tuple[str, str, str]]:
    """Each operation of a text: place of its path, place of itself, and its call; line by line."""
    found, path = [], ""
    for line in text.splitlines():
        if line.startswith("  /"):
            path = line.strip(" :")
        elif operation := re.fullmatch(r"(?: {4}| {6})(\w+): \{summary: s\}", line):
            more = "/additionalOperations" if line.startswith(" " * 6) else ""
            item = f"/paths/{path.replace('~', '~0').replace('/', '~1')}"
            found.append((item, f"{item}{more}/{operation[1]}", f"{operation[1].upper()} {path}"))
    return found


@settings(deadline=None, max_examples=40)
@given(paths=_PATHS)
def test_operations_and_dead_letters_are_those_that_stand_in_the_file(
    tmp_path_factory: pytest.TempPathFactory, paths: list[tuple[str, list[str], list[str]]]
) -> None:
    text = description(paths)
    file = tmp_path_factory.mktemp("oracle") / "spec.yaml"
    file.write_text(text, "utf-8")
    documents, letters = read(file)
    operations = standing(text)
    unexplained = [o for o in operations if o[2] not in documents and not {o[0], o[1]} & letters.keys()]
    assert unexplained == []
    unnamed = [o for o in operations if not {o[0], o[1]} & letters.keys()]
    assert len(documents) >= len(unnamed)
    assert {name.partition(" (")[0] for name in documents} <= {call for *_, call in operations}


def test_a_json_reader_of_the_standard_library_counts_the_same(tmp_path: Path) -> None:
    tree: Any = yaml.safe_load(description([("/a", ["get", "put"], ["COPY"]), ("/b", ["query"], [])]))
    (tmp_path / "spec.json").write_text(json.dumps(tree), "utf-8")
    documents, letters = read(tmp_path / "spec.json")
    assert sorted(documents) == ["COPY /a", "GET /a", "PUT /a", "QUERY /b"]
    assert letters == {}
