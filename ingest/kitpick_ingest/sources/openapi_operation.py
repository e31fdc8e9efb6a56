"""Inputs and outputs of an operation of an OpenAPI description."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kitpick_engines.document import Parameter
from kitpick_ingest.chains import Field
from kitpick_ingest.json_schema import parameter, parameters, property_names, schema_fields
from kitpick_ingest.json_values import (
    JsonObject,
    References,
    as_list,
    as_object,
    as_string,
    segments,
    unresolved,
)
from kitpick_ingest.prose import MAX_RETURNS, clip

_BODY = "body"
_MAX_LINKS = 100
_IGNORED_HEADERS = frozenset({"accept", "content-type", "authorization"})
"""OpenAPI 3 ignores parameters of these names: media types and security are described elsewhere."""


class OperationReader:
    """Reads the operations of one description. Shared parts are converted once.

    Args:
        references: resolves the `$ref`s of the description.
    """

    def __init__(self, references: References) -> None:
        self._references = references
        self._bodies: dict[str, tuple[Parameter, ...]] = {}
        self._results: dict[str, str] = {}
        self._answers: dict[str, tuple[Field, ...]] = {}

    def parameters(self, item: JsonObject, operation: JsonObject) -> tuple[Parameter, ...]:
        """Inputs of an operation: its own parameters before the path's, then the fields of its body.

        An operation's parameter replaces the path's with the same name and location; of equal names in
        different locations the first is kept.
        """
        declared: dict[tuple[str, str], Parameter] = {}
        bodies: list[JsonObject] = []
        for value in (*as_list(operation.get("parameters")), *as_list(item.get("parameters"))):
            target = self._references.resolve(as_object(value))
            location, name = as_string(target.get("in")), _parameter_name(target)
            if location == _BODY:
                bodies.append(target)
            elif name and not (location == "header" and name.lower() in _IGNORED_HEADERS):
                declared.setdefault((location, name), self._parameter(name, target))
        found: dict[str, Parameter] = {}
        for p in (*declared.values(), *self._body(operation, bodies)):
            found.setdefault(p.name, p)
        return tuple(found.values())

    def returns(self, operation: JsonObject) -> str:
        """Description of the first successful response, with the names of its fields."""
        response = self._response(operation)
        fields = self._fields(_response_schema(response))
        return clip(": ".join(filter(None, (as_string(response.get("description")), fields))), MAX_RETURNS)

    def answer(self, operation: JsonObject) -> tuple[Field, ...] | None:
        """Identifiers in the first successful response, None where no schema describes them."""
        schema = _response_schema(self._response(operation))
        if not schema:
            return None
        reference = unresolved(schema)
        if reference not in self._answers:
            fields = tuple(schema_fields(schema, self._references))
            if not reference:
                return fields
            self._answers[reference] = fields
        return self._answers[reference]

    def linked(self, operation: JsonObject) -> Iterator[str]:
        """Inputs of other operations that the response's `links` fill from it."""
        for link in list(as_object(self._response(operation).get("links")).values())[:_MAX_LINKS]:
            yield from list(as_object(as_object(link).get("parameters")))[:_MAX_LINKS]

    def _response(self, operation: JsonObject) -> JsonObject:
        responses = as_object(operation.get("responses"))
        codes = [*sorted(code for code in responses if code.startswith("2")), "default"]
        success = next((responses[code] for code in codes if code in responses), None)
        return self._references.resolve(as_object(success))

    def _parameter(self, name: str, target: JsonObject) -> Parameter:
        schema = as_object(target.get("schema")) or _content_schema(target) or target  # the last: Swagger 2
        return self._described(name, schema, target)

    def _body(self, operation: JsonObject, swagger_bodies: list[JsonObject]) -> tuple[Parameter, ...]:
        """The properties of the body's schema, or the body itself where it is no object."""
        bodies = [self._references.resolve(as_object(operation.get("requestBody"))), *swagger_bodies]
        body = next(filter(None, bodies), None)
        if body is None:
            return ()
        schema = _content_schema(body) or as_object(body.get("schema")) or body
        return self._properties(schema) or (self._described(_BODY, schema, body),)

    def _properties(self, schema: JsonObject) -> tuple[Parameter, ...]:
        reference = unresolved(schema)
        if not reference:
            return parameters(schema, self._references)
        if reference not in self._bodies:
            self._bodies[reference] = parameters(schema, self._references)
        return self._bodies[reference]

    def _described(self, name: str, schema: JsonObject, owner: JsonObject) -> Parameter:
        """A parameter of a schema, whose owner may describe it better."""
        if description := as_string(owner.get("description")):
            schema = {**schema, "description": description}
        return parameter(name, schema, owner.get("required") is True, self._references)

    def _fields(self, schema: JsonObject) -> str:
        reference = unresolved(schema)
        if reference not in self._results:
            fields = clip(", ".join(property_names(schema, self._references)), MAX_RETURNS)
            if not reference:
                return fields
            self._results[reference] = fields
        return self._results[reference]


def _parameter_name(target: JsonObject) -> str:
    """The name of a parameter; of an unresolved one, the name of its reference."""
    if missing := unresolved(target):
        return (segments(missing) or (missing,))[-1]
    return as_string(target.get("name"))


def _response_schema(response: JsonObject) -> JsonObject:
    return as_object(_content_schema(response) or response.get("schema"))


def _content_schema(value: JsonObject) -> JsonObject:
    """The schema of the most informative media type: JSON first."""
    content = as_object(value.get("content"))
    media: Any = next((content[kind] for kind in content if "json" in kind), None)
    return as_object(as_object(media or next(iter(content.values()), None)).get("schema"))
