"""The OpenAPI 3.1 description of all endpoints, generated from the types of their requests."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec

from kitpick_service.dialect import Endpoint

_IN_PATH = re.compile(r"\{(\w+)\}")
_REF = "#/components/schemas/{name}"
_ERRORS = {
    "400": "Not readable",
    "401": "No API key, or an unknown one",
    "404": "No such model or profile",
    "408": "The body did not arrive in time",
    "413": "Too large",
    "415": "A content encoding that is not read",
    "422": "Not what this path takes",
    "424": "A model failed",
    "429": "Overloaded: come back after Retry-After seconds",
    "500": "A defect of the service",
    "503": "Starting, stopping, or a model does not answer",
    "504": "Not done in time",
}


def description(endpoints: Iterable[Endpoint], keyed: bool) -> dict[str, Any]:
    """The OpenAPI document; `keyed` tells whether API keys are asked for."""
    endpoints = tuple(endpoints)
    types = [kind for item in endpoints for kind in (item.request, item.reply, item.dialect.error_type)]
    given = [kind for kind in types if kind is not None]
    schemas, components = msgspec.json.schema_components(given, ref_template=_REF)
    names = dict(zip(map(repr, given), schemas, strict=True))
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "kitpick rescorer", "version": version("kitpick")},
        "paths": {item.path: {item.method.lower(): _operation(item, names, keyed)} for item in endpoints},
        "components": {"schemas": components},
    }
    if keyed:
        document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return document


def page(document: Mapping[str, Any]) -> str:
    """The description for people: one page, no scripts, nothing loaded from elsewhere."""
    rows = [
        f"<h2><code>{method.upper()} {path}</code></h2><p>{html.escape(operation['summary'])}</p>"
        f"{_body(operation)}"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    types = [
        f"<h3 id='{html.escape(name)}'>{html.escape(name)}</h3><pre>{html.escape(_indented(schema))}</pre>"
        for name, schema in document["components"]["schemas"].items()
    ]
    title = html.escape(f"{document['info']['title']} {document['info']['version']}")
    head = f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title><h1>{title}</h1>"
    return head + "".join(rows) + "<h2>Types</h2>" + "".join(types) + "</html>"


def _operation(item: Endpoint, names: Mapping[str, Any], keyed: bool) -> dict[str, Any]:
    error = _content(names[repr(item.dialect.error_type)])
    operation: dict[str, Any] = {
        "summary": item.summary,
        "operationId": re.sub(r"\W", "_", f"{item.method.lower()}{item.path}"),
        "tags": [item.dialect.name],
        "responses": {"200": {"description": "Done", "content": _content(names[repr(item.reply)])}}
        | {status: {"description": text, "content": error} for status, text in _ERRORS.items()},
    }
    if names_in_path := _IN_PATH.findall(item.path):
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            for name in names_in_path
        ]
    if item.request is not None:
        operation["requestBody"] = {"required": True, "content": _content(names[repr(item.request)])}
    if keyed and item.keyed:
        operation["security"] = [{"key": []}]
    return operation


def _content(schema: object) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _body(operation: Mapping[str, Any]) -> str:
    if "requestBody" not in operation:
        return ""
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    name = schema.get("$ref", "").rpartition("/")[2]
    return f"<p>Body: <a href='#{html.escape(name)}'>{html.escape(name)}</a></p>"


def _indented(schema: object) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode()
