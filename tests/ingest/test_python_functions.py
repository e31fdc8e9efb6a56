"""Functions of Python as tools: what their signatures and docstrings declare."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict, overload

import msgspec
import pytest
from pydantic import BaseModel, Field

from kitpick_ingest.entries import BadEntry
from kitpick_ingest.python_functions import declared_function


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


@dataclass
class Place:
    city: str
    postcode: int = 0


class Options(TypedDict, total=False):
    verbose: bool


def of_google(city: str, days: int = 3) -> str:
    """The weather.

    In the days to come.

    Args:
        city (str): Where,
            in English.
        days: How many: at most 5.

    Returns:
        Words.
    """
    return f"{city} {days}"


def of_numpy(city: str, days: int = 3) -> str:
    """The weather.

    In the days to come.

    Parameters
    ----------
    city : str
        Where,
        in English.
    days
        How many: at most 5.

    Returns
    -------
    str
        Words.
    """
    return of_google(city, days)


def of_sphinx(city: str, days: int = 3) -> str:
    """The weather.

    In the days to come.

    :param str city: Where,
        in English.
    :param days: How many: at most 5.
    :returns: Words.
    """
    return of_google(city, days)


async def of_annotations(
    city: Annotated[str, "Where, in English."],
    days: Annotated[int, msgspec.Meta(description="How many: at most 5.")] = 3,
) -> str:
    """The weather.

    In the days to come.
    """
    return of_google(city, days)


@pytest.mark.parametrize("function", [of_google, of_numpy, of_sphinx, of_annotations])
def test_a_docstring_describes_the_function_and_each_input(function: Callable[..., object]) -> None:
    assert declared_function(function) == {
        "name": function.__name__,
        "description": "The weather.\n\nIn the days to come.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Where, in English."},
                "days": {"type": "integer", "description": "How many: at most 5.", "default": 3},
            },
            "required": ["city"],
        },
    }


def inputs(function: Callable[..., object]) -> dict[str, Any]:
    found: dict[str, Any] = declared_function(function)["parameters"]["properties"]
    return found


def test_types_become_json_schema() -> None:
    def forecast(
        unit: Unit,
        mode: Literal["day", "hour"],
        places: list[Place],
        options: Options,
        much: object,
        old: complex,
    ) -> None: ...

    declared = declared_function(forecast)["parameters"]
    assert declared["properties"] == {
        "unit": {"$ref": "#/$defs/Unit"},
        "mode": {"enum": ["day", "hour"]},
        "places": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "options": {"$ref": "#/$defs/Options"},
        "much": {},
        "old": {},
    }
    assert declared["$defs"]["Unit"]["enum"] == ["c", "f"]
    assert declared["$defs"]["Place"]["required"] == ["city"]
    assert declared["$defs"]["Options"]["properties"] == {"verbose": {"type": "boolean"}}


def test_a_type_that_is_not_there_at_run_time_leaves_the_input() -> None:
    def load(place: NotImported) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert inputs(load) == {"place": {}}


def test_a_type_that_says_nothing_costs_only_itself() -> None:
    def load(city: str, place: NotImported, day: "of the week", unit: Broken) -> None: ...  # type: ignore  # noqa: F821, F722

    assert inputs(load) == {"city": {"type": "string"}, "place": {}, "day": {}, "unit": {}}


class Broken:
    """A model that cannot say what it takes, as pydantic's of something that can be called."""

    @staticmethod
    def model_json_schema(ref_template: str = "") -> dict[str, object]:
        raise RuntimeError("no schema of a function")


class Forecaster:
    """Says the weather."""

    def __call__(self, city: str) -> None:
        """Says it of a city."""

    def ask(self, city: str) -> None:
        """Asks for it."""


def test_methods_and_objects_that_can_be_called() -> None:
    said, asked = declared_function(Forecaster()), declared_function(Forecaster().ask)
    assert (said["name"], said["description"], list(said["parameters"]["properties"])) == (
        *("Forecaster", "Says it of a city."),
        ["city"],
    )
    assert (asked["name"], list(asked["parameters"]["properties"])) == ("ask", ["city"])


def test_what_a_partial_has_given_is_no_input() -> None:
    assert list(inputs(functools.partial(of_google, "Paris"))) == ["days"]
    by_name = declared_function(functools.partial(of_google, city="Paris"))
    assert (by_name["name"], list(by_name["parameters"]["properties"])) == ("of_google", ["days"])


def test_a_decorator_that_wraps_hides_nothing() -> None:
    @functools.wraps(of_google)
    def wrapped(*given: object, **named: object) -> None: ...

    assert inputs(wrapped) == inputs(of_google)


@overload
def double(value: int) -> int: ...
@overload
def double(value: str) -> str: ...
def double(value: int | str) -> int | str:
    """Twice the value."""
    return value * 2


def test_of_overloads_the_function_itself_counts() -> None:
    assert inputs(double) == {"value": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}


class Cat(BaseModel):
    """A cat."""

    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


@dataclass
class Street:
    number: int


def test_what_a_field_of_pydantic_says_stays() -> None:
    def forecast(
        days: Annotated[int, Field(ge=1, le=14)] = 3, city: str = Field(description="Where")
    ) -> None: ...

    declared = declared_function(forecast)["parameters"]
    assert declared["properties"] == {
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "city": {"type": "string", "description": "Where"},
    }
    assert declared["required"] == ["city"]


def test_a_field_as_the_default_of_a_parameter_holds_its_default() -> None:
    def forecast(days: int = Field(3, le=14)) -> None: ...

    declared = declared_function(forecast)["parameters"]
    assert declared["properties"] == {"days": {"type": "integer", "maximum": 14, "default": 3}}
    assert "required" not in declared


@pytest.mark.parametrize("union", [Cat | Dog, Annotated[Cat | Dog, Field(discriminator="kind")]])
def test_one_of_several_models_may_be_given(union: Any) -> None:
    def adopt(pet: Cat) -> None: ...

    adopt.__annotations__["pet"] = union
    text = msgspec.json.encode(declared_function(adopt)["parameters"]).decode()
    assert ('"cat"' in text, '"dog"' in text) == (True, True)


def test_one_of_several_classes_may_be_given() -> None:
    def send(to: Place | Street, cc: list[Cat | Dog] | None = None) -> None: ...

    declared = declared_function(send)["parameters"]
    assert declared["properties"]["to"] == {"anyOf": [{"$ref": "#/$defs/Place"}, {"$ref": "#/$defs/Street"}]}
    assert {"Place", "Street", "Cat", "Dog"} <= declared["$defs"].keys()


def test_the_docstring_says_more_of_an_input_than_the_class_of_all_such_inputs() -> None:
    def adopt(pet: Cat) -> None:
        """Adopts.

        :param pet: whom to take home
        """

    assert inputs(adopt)["pet"]["description"] == "whom to take home"


def test_a_default_that_json_has_not_is_left_out() -> None:
    def wait(seconds: float = float("inf")) -> None: ...

    assert declared_function(wait)["parameters"]["properties"] == {"seconds": {"type": "number"}}


def test_variable_arguments_are_no_inputs() -> None:
    def log(text: str, *values: object, **fields: object) -> None: ...

    assert list(inputs(log)) == ["text"]


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda city: city, "without a name"),
        (len, "positional only"),
        (dict.get, "needs its object"),
        (dict, "no signature"),
        (Forecaster.ask, "needs its object"),
    ],
)
def test_what_no_model_can_call_says_why(function: Callable[..., object], why: str) -> None:
    with pytest.raises(BadEntry, match=why):
        declared_function(function)
