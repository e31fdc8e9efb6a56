"""GraphQL: operations of an introspection answer, whose types may refer to each other in cycles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.definitions import input_schema
from kitpick_ingest.errors import SourceError
from kitpick_ingest.opening import open_source


def named(name: str, kind: str = "SCALAR") -> dict[str, Any]:
    return {"kind": kind, "name": name, "ofType": None}


def wrapped(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "name": None, "ofType": inner}


def needed(inner: dict[str, Any]) -> dict[str, Any]:
    return wrapped("NON_NULL", inner)


ORDER = named("OrderFilter", "INPUT_OBJECT")
SCHEMA = {
    "queryType": {"name": "Root"},
    "mutationType": {"name": "Changes"},
    "subscriptionType": None,
    "types": [
        {
            "kind": "OBJECT",
            "name": "Root",
            "fields": [
                {
                    "name": "orders",
                    "description": "Orders of a customer",
                    "args": [
                        {"name": "customer", "description": "Whose", "type": needed(named("ID"))},
                        {"name": "filter", "type": ORDER},
                        {"name": "states", "type": wrapped("LIST", needed(named("State", "ENUM")))},
                        {"name": "first", "type": needed(named("Int")), "defaultValue": "10"},
                    ],
                    "type": needed(wrapped("LIST", needed(named("Order", "OBJECT")))),
                },
            ],
        },
        {
            "kind": "OBJECT",
            "name": "Changes",
            "fields": [
                {
                    "name": "pay",
                    "args": [],
                    "type": named("Order", "OBJECT"),
                    "isDeprecated": True,
                    "deprecationReason": "use payOrder",
                }
            ],
        },
        {"kind": "OBJECT", "name": "Order", "fields": [{"name": "parent", "type": named("Order", "OBJECT")}]},
        {"kind": "ENUM", "name": "State", "enumValues": [{"name": "OPEN"}, {"name": "PAID"}]},
        {
            "kind": "INPUT_OBJECT",
            "name": "OrderFilter",
            "inputFields": [
                {"name": "and", "type": wrapped("LIST", needed(ORDER))},
                {"name": "not", "type": ORDER},
                {"name": "state", "type": needed(named("State", "ENUM"))},
            ],
        },
    ],
}


def read(path: Path, content: Any) -> list[ApiDocument]:
    path.write_text(json.dumps(content), encoding="utf-8")
    return [item for item in open_source(str(path), name="shop").read() if isinstance(item, ApiDocument)]


@pytest.mark.parametrize("content", [{"data": {"__schema": SCHEMA}}, {"__schema": SCHEMA}])
def test_operations_are_read_with_their_arguments(tmp_path: Path, content: Any) -> None:
    orders, pay = read(tmp_path / "schema.json", content)
    assert (orders.id, orders.api, orders.effect) == ("shop/query/orders", "orders", Effect.READ)
    assert orders.returns == "[Order!]!"
    assert orders.parameters[0] == Parameter("customer", "string", True, "Whose")
    assert [parameter.required for parameter in orders.parameters] == [True, False, False, False]
    assert (pay.id, pay.effect, pay.deprecated) == ("shop/mutation/pay", Effect.WRITE, True)
    assert pay.successor == "use payOrder"
    assert json.loads(orders.definition) == SCHEMA["types"][0]["fields"][0]
    assert orders.definition in (tmp_path / "schema.json").read_text(encoding="utf-8"), "byte for byte"


def test_defaults_and_descriptions_of_inputs_stay(tmp_path: Path) -> None:
    state = {"name": "state", "type": named("State", "ENUM"), "defaultValue": "OPEN"}
    noted = {"name": "limit", "type": named("Int"), "description": "At most so many", "defaultValue": "3"}
    odd = {"name": "range", "type": named("State", "ENUM"), "defaultValue": "{from: 1}"}
    field = {"name": "find", "args": [state, {"name": "page", "type": named("Page", "INPUT_OBJECT")}, odd]}
    types = [
        {"kind": "OBJECT", "name": "Root", "fields": [field]},
        {"kind": "INPUT_OBJECT", "name": "Page", "inputFields": [noted]},
        {"kind": "ENUM", "name": "State", "enumValues": [{"name": "OPEN"}]},
    ]
    schema = {"__schema": {"queryType": {"name": "Root"}, "types": types}}
    (find,) = read(tmp_path / "schema.json", schema)
    found = input_schema(find)
    assert found["properties"]["state"] == {"type": "string", "enum": ["OPEN"], "default": "OPEN"}
    assert "default" not in found["properties"]["range"]
    limit = {"type": "integer", "description": "At most so many", "default": 3}
    assert found["$defs"]["Page"]["properties"] == {"limit": limit}


def test_inputs_that_refer_to_themselves_end(tmp_path: Path) -> None:
    orders, _ = read(tmp_path / "schema.json", {"__schema": SCHEMA})
    schema = input_schema(orders)
    assert schema["properties"]["states"]["items"] == {"type": "string", "enum": ["OPEN", "PAID"]}
    own = schema["$defs"]["OrderFilter"]
    assert own["required"] == ["state"]
    assert own["properties"]["and"]["items"] == {"$ref": "#/$defs/OrderFilter"}


@pytest.mark.parametrize(
    "content", [{"data": {"__schema": {"types": []}}}, {"data": None}, {"__schema": {"types": [1]}}]
)
def test_what_is_no_introspection_is_refused(tmp_path: Path, content: Any) -> None:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SourceError):
        list(open_source(f"graphql:{path}").read())
