"""Descriptions in which operations could vanish, each with what must come out.

`python -m hostile.descriptions` reads all of them, in a process that may die of one: a line for each case.
"""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kitpick_engines.document import ApiDocument
from kitpick_ingest.opening import open_source

Tree = dict[str, Any]
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_OTHER = ("COPY", "LINK", "Purge", "get")
_HEAD: Tree = {"openapi": "3.2.0", "info": {"title": "Depot", "version": "1"}}


@dataclass(frozen=True)
class DescriptionCase:
    """Files of which the first is read."""

    group: str
    kind: str
    files: dict[str, str]
    apis: tuple[str, ...]
    """Names of the documents that must come out."""
    told: bool
    """Whether a dead letter must name a place."""
    inputs: tuple[str, ...] = ()
    """Names of the inputs of the last of them, where they matter."""

    def outcome(self) -> str:
        """`right`, or what came out instead."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
            target = folder if self.kind == "skills" else Path(folder, next(iter(self.files)))
            items = list(open_source(f"{self.kind}:{target}", name="test").read())
        documents = [item for item in items if isinstance(item, ApiDocument)]
        apis = tuple(sorted(each.api for each in documents))
        if apis != tuple(sorted(self.apis)):
            return f"came out: {apis}"
        if (len(items) > len(documents)) != self.told:
            return f"dead letters: {[item for item in items if not isinstance(item, ApiDocument)]}"[:300]
        found = {each.api: tuple(every.name for every in each.parameters) for each in documents}
        return "right" if not self.inputs or found[self.apis[-1]] == self.inputs else f"inputs: {found}"


def description_cases() -> Iterator[DescriptionCase]:
    """Every case, in JSON and in YAML where both can hold it."""
    yield from _repeated()
    yield from _repeated_elsewhere()
    for case in itertools.chain(_siblings(), _methods(), _split(), _named(), _chains()):
        yield case
        files = {name.replace(".json", ".yaml"): _as_yaml(text) for name, text in case.files.items()}
        yield DescriptionCase(f"{case.group}, YAML", case.kind, files, case.apis, case.told, case.inputs)


def _as_yaml(text: str) -> str:
    return yaml.safe_dump(json.loads(text.replace(".json", ".yaml")), sort_keys=False)


def _case(
    group: str,
    *apis: str,
    paths: Tree,
    told: bool = False,
    inputs: tuple[str, ...] = (),
    head: Tree | None = None,
    files: Tree | None = None,
) -> DescriptionCase:
    trees = {"api.json": {**_HEAD, "paths": paths, **(head or {})}, **(files or {})}
    texts = {name: json.dumps(tree) for name, tree in trees.items()}
    return DescriptionCase(f"description: {group}", "openapi", texts, apis, told, inputs)


def _operation(name: str) -> Tree:
    return {"operationId": name, "responses": {"200": {"description": "done"}}}


def _repeated() -> Iterator[DescriptionCase]:
    """A key that stands twice, at every level, in whatever spelling: the last value counts, which is told."""
    pairs = {
        "path": ('"/a": {"get": {}}', '"/a": {"put": {}}', "PUT /a"),
        "method": ('"/a": {"put": {"operationId": "x"}', '"put": {}}', "PUT /a"),
        "operationId": ('"/a": {"put": {"operationId": "x"', '"operationId": "y"}}', "y"),
        "escaped path": ('"/a": {"get": {}}', '"\\u002fa": {"put": {}}', "PUT /a"),
        "parameters": ('"/a": {"put": {"parameters": []', '"parameters": []}}', "PUT /a"),
    }
    for name, (first, last, api) in pairs.items():
        for suffix in ("json", "yaml"):
            text = f'{{"openapi": "3.1.0", "info": {{"title": "D"}}, "paths": {{{first}, {last}}}}}'
            files = {f"api.{suffix}": text}
            yield DescriptionCase(f"description: {name} twice, {suffix}", "openapi", files, (api,), told=True)
            part = {
                f"api.{suffix}": '{"openapi": "3.1.0", "info": {"title": "D"}, "paths": {"$ref": "p.json"}}',
                "p.json": f"{{{first}, {last}}}",
            }
            group = f"description: {name} twice in a part, {suffix}"
            yield DescriptionCase(group, "openapi", part, (api,), told=True)
    for name, text in {
        "plain": "/a: {get: {}}\n/a: {put: {}}",
        "quoted": "/a: {get: {}}\n'/a': {put: {}}",
        "escaped": '/a: {get: {}}\n"\\x2fa": {put: {}}',
        "anchored": "/a: {get: {}}\n&k /a: {put: {}}",
        "tagged": "/a: {get: {}}\n!!str /a: {put: {}}",
    }.items():
        files = {
            "api.yaml": "openapi: 3.1.0\ninfo: {title: D}\npaths: {$ref: p.yaml}",
            "p.yaml": text,
        }
        group = f"description: path twice, {name} in YAML"
        yield DescriptionCase(group, "openapi", files, ("PUT /a",), told=True)


def _repeated_elsewhere() -> Iterator[DescriptionCase]:
    """The same in what is no OpenAPI."""
    types = '{"kind": "OBJECT", "name": "Q", "fields": [%s], "fields": [%s]}'
    query = f'{{"queryType": {{"name": "Q"}}, "types": [{types}]}}'
    field = '{"name": "%s", "args": [], "type": {"kind": "SCALAR", "name": "Int"}}'
    method = '{"id": "%s", "httpMethod": "GET", "path": "x"}'
    cases = {
        "functions": '{"functions": [{"name": "a"}], "functions": [{"name": "b"}]}',
        "mcp": '{"tools": [{"name": "a", "inputSchema": {}}], "tools": [{"name": "b", "inputSchema": {}}]}',
        "a2a": '{"name": "A", "description": "d", "version": "1", "url": "https://x", "capabilities": {}, '
        '"skills": [{"id": "s", "name": "a"}], "skills": [{"id": "t", "name": "b"}]}',
        "google": '{"kind": "discovery#restDescription", "name": "g", "version": "v1", "methods": '
        f'{{"x": {method % "a"}, "x": {method % "b"}}}}}',
        "graphql": f'{{"__schema": {query % (field % "a", field % "b")}}}',
    }
    for kind, text in cases.items():
        yield DescriptionCase(f"{kind}: list twice", kind, {"file.json": text}, ("b",), told=True)
    skill = "---\nname: a\nname: b\ndescription: d\n---\nDoes it.\n"
    yield DescriptionCase("skills: name twice", "skills", {"s/SKILL.md": skill}, ("b",), told=True)


def _siblings() -> Iterator[DescriptionCase]:
    """Operations and inputs beside the reference of a path."""
    for own, theirs in itertools.product(("get", "put", "query"), ("get", "delete")):
        item = {"$ref": "#/components/pathItems/I", own: _operation("own"), "parameters": [_query("o")]}
        there = {theirs: _operation("theirs"), "parameters": [_query("t")]}
        head = {"components": {"pathItems": {"I": there}}}
        yield _case(
            f"{own} beside a reference to {theirs}",
            "own",
            "theirs",
            paths={"/a": item},
            inputs=("o", "t"),
            head=head,
        )
        item = {**item, "$ref": "part.json"}
        group = f"{own} beside a reference to {theirs} of a file"
        yield _case(group, "own", "theirs", paths={"/a": item}, inputs=("o", "t"), files={"part.json": there})


def _query(name: str) -> Tree:
    return {"name": name, "in": "query", "schema": {"type": "string"}}


def _methods() -> Iterator[DescriptionCase]:
    """Each method, in a key of its own and in `additionalOperations`, in the path and behind a reference."""
    for place, method in itertools.product(("own", "referred"), (*_METHODS, *_OTHER)):
        known = method in _METHODS
        item = {method: _operation("it")} if known else {"additionalOperations": {method: _operation("it")}}
        if method == "get":
            item = {"get": _operation("first"), "additionalOperations": {"GET": _operation("it")}}
        there = {"components": {"pathItems": {"I": item}}}
        paths = {"/a": item if place == "own" else {"$ref": "#/components/pathItems/I"}}
        names = ("first", "it") if method == "get" else ("it",)
        yield _case(f"{method}, {place}", *names, paths=paths, head=there if place == "referred" else {})
    yield _case(
        "no method", "it", paths={"/a": {"get": _operation("it"), "copy": _operation("x")}}, told=True
    )
    yield _case("a list of operations", paths={"/a": {"get": [_operation("it")]}}, told=True)
    more = {"additionalOperations": [_operation("it")]}
    yield _case("other operations in a list", paths={"/a": more}, told=True)


def _split() -> Iterator[DescriptionCase]:
    """Paths and operations in other files, however they are referred to."""
    item, many = {"get": _operation("it")}, {"x/y z": {"get": _operation("it")}}
    spellings = (
        "part.json",
        "./part.json",
        "parts/../part.json",
        "part.json#",
        "part.json#/",
        "../d/part.json",
    )
    for spelling in spellings[:4]:
        yield _case(f"path in {spelling}", "it", paths={"/a": {"$ref": spelling}}, files={"part.json": item})
    for pointer in ("#/x~1y z", "#/x~1y%20z", "#/x%7E1y%20z"):
        paths = {"/a": {"$ref": f"part.json{pointer}"}}
        yield _case(f"path at {pointer}", "it", paths=paths, files={"part.json": many})
    for outside in (
        "../part.json",
        "/etc/part.json",
        "https://example.com/part.json",
        "none.json",
        "part.txt",
    ):
        yield _case(f"path in {outside}", paths={"/a": {"$ref": outside}}, told=True)
    there = {"deep/a.json": {"$ref": "../b.json#/item"}, "b.json": {"item": {"$ref": "deep/c.json"}}}
    paths = {"/a": {"$ref": "deep/a.json"}}
    yield _case("path through three files", "it", paths=paths, files={**there, "deep/c.json": item})
    yield _case("paths in a file", "it", paths={"$ref": "p.json"}, files={"p.json": {"/a": item}})
    operation = {"get": {"$ref": "o.json#/it"}}
    yield _case(
        "operation in a file", "it", paths={"/a": operation}, files={"o.json": {"it": _operation("it")}}
    )
    back = {"/a": {"$ref": "p.json"}}
    yield _case(
        "two files in a circle", paths=back, files={"p.json": {"$ref": "api.json#/paths/~1a"}}, told=True
    )


def _named() -> Iterator[DescriptionCase]:
    """Schemas by anchor and by id, here and in a file: their fields are inputs."""
    fields = {"type": "object", "properties": {"width": {"type": "integer"}}}
    schemas: dict[str, tuple[Tree, str]] = {
        "$anchor": ({"$anchor": "box", **fields}, "#box"),
        "$dynamicAnchor": ({"$dynamicAnchor": "box", **fields}, "#box"),
        "$id, whole": ({"$id": "https://example.com/box", **fields}, "https://example.com/box"),
        "$id, relative": ({"$id": "box", **fields}, "box"),
        "$id and anchor": ({"$id": "box", "$anchor": "b", **fields}, "box#b"),
        "$id and pointer": ({"$id": "box", "$defs": {"b": fields}}, "box#/$defs/b"),
        "old $id": ({"$id": "#box", **fields}, "#box"),
    }
    for name, (schema, reference) in schemas.items():
        for key in ("$ref", "$dynamicRef"):
            body = {"content": {"application/json": {"schema": {key: reference}}}}
            paths = {"/a": {"post": {**_operation("it"), "requestBody": body}}}
            head = {"components": {"schemas": {"Box": schema}}}
            yield _case(f"{key} of {name}", "it", paths=paths, inputs=("width",), head=head)
    shadow = {"get": {**_operation("first"), "x-example": {"$id": "part.json"}}}
    paths = {"/a": shadow, "/b": {"$ref": "part.json#/x"}}
    files = {"part.json": {"x": {"get": _operation("it")}}}
    yield _case("an example called like a file", "first", "it", paths=paths, files=files)


def _chains() -> Iterator[DescriptionCase]:
    """References that lead to references: a chain has an end, or is told."""
    for length, through in itertools.product((1, 8, 25, 500, 5_000), ("", "/y")):
        items: Tree = {f"I{n}": {"$ref": f"#/components/pathItems/I{n + 1}{through}"} for n in range(length)}
        end: Tree = {"get": _operation("it")}
        for _ in range(min(length, 25) + 1 if through else 0):
            end = {"y": end}
        items[f"I{length}"] = end
        paths = {"/a": {"$ref": f"#/components/pathItems/I0{through}"}}
        head = {"components": {"pathItems": items}}
        apis = ("it",) if length <= 25 else ()
        group = f"{length} references in a row{' through one another' if through else ''}"
        yield _case(group, *apis, paths=paths, head=head, told=not apis)


def main() -> None:
    """Prints `[name, outcome]` for each case."""
    for case in description_cases():
        try:
            outcome = case.outcome()
        except Exception as error:  # noqa: BLE001 - whatever comes out is wrong
            outcome = f"{type(error).__name__}: {error}"[:200]
        print(json.dumps([case.group, outcome]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
