"""A list of tools that a program holds, as a source."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from kitpick_engines.document import ApiDocument, Effect
from kitpick_ingest.source import DeadLetter
from kitpick_ingest.sources.python_tools import PythonTools

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


@dataclass
class WeatherRequest:
    city: str


class Tree(msgspec.Struct):
    """A tree."""

    children: list[Tree]


class FrameworkTool:
    """What tools of frameworks have in common."""

    name = "get_weather"
    description = "The weather of a city."

    def __init__(self, key: str, schema: object) -> None:
        setattr(self, key, schema)


def read(*tools: object) -> list[ApiDocument | DeadLetter]:
    return list(PythonTools(tools).read())


def test_every_form_of_a_tool_gives_the_same_document() -> None:
    declared = {"name": "get_weather", "description": "The weather of a city.", "input_schema": SCHEMA}
    framework = [FrameworkTool(key, SCHEMA) for key in ("params_json_schema", "input_schema", "parameters")]
    found = read(declared, get_weather, *framework)
    seen = {(each.id, each.description, each.parameters) for each in found if isinstance(each, ApiDocument)}
    assert len(found) == 5
    assert len(seen) == 1
    assert next(iter(seen))[0] == "tools/tools/get_weather"


def test_the_fields_of_a_class_are_the_inputs() -> None:
    (document,) = read(WeatherRequest)
    assert isinstance(document, ApiDocument)
    assert (document.api, [each.name for each in document.parameters]) == ("WeatherRequest", ["city"])


def test_a_class_that_holds_itself_keeps_what_it_refers_to() -> None:
    (document,) = read(Tree)
    assert isinstance(document, ApiDocument)
    parameters = msgspec.json.decode(document.definition)["parameters"]
    assert parameters["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert parameters["$defs"]["Tree"]["type"] == "object"


def test_lists_within_a_declaration_are_read() -> None:
    first, second = read({"functions": [{"name": "a"}, {"name": "b"}]})
    assert [first.api, second.api] == ["a", "b"]  # type: ignore[union-attr]


class Failing:
    """A tool that asks a server what it takes."""

    name = "failing"

    @property
    def input_schema(self) -> object:
        raise ConnectionError("nobody answers")

    def __repr__(self) -> str:
        raise ConnectionError("nobody answers")


def test_a_tool_that_fails_when_asked_costs_only_itself() -> None:
    letter, document = read(Failing(), get_weather)
    assert isinstance(document, ApiDocument)
    assert isinstance(letter, DeadLetter)
    assert letter.reason == "it does not declare itself: ConnectionError: nobody answers"
    assert letter.excerpt == "an object of type Failing"


def test_what_declares_no_tool_is_a_dead_letter_with_its_place() -> None:
    good, *bad = read(get_weather, None, 5, "x", b"x", {}, Effect, lambda city: city, {"name": object()})
    assert isinstance(good, ApiDocument)
    assert all(isinstance(each, DeadLetter) for each in bad)
    assert [each.position for each in bad] == [f"tools[{place}]" for place in range(1, 9)]  # type: ignore[union-attr]
