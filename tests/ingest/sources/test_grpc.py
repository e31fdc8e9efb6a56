"""gRPC: descriptor sets that a real protoc wrote (`tests/data/grpc`), and hostile ones."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sizes import examples

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_foundation.errors import MissingExtra
from kitpick_ingest import descriptor_sets
from kitpick_ingest.definitions import input_schema
from kitpick_ingest.errors import SourceError
from kitpick_ingest.opening import detect_kind, open_source
from kitpick_ingest.proto_schemas import MAX_MESSAGE_FIELDS
from kitpick_ingest.source import DeadLetter

DATA = Path(__file__).resolve().parents[2] / "data" / "grpc"
MESSAGE, OPTIONAL, REPEATED = 11, 1, 3


def read(path: Path) -> dict[str, ApiDocument]:
    items = list(open_source(f"grpc:{path}", name="shop").read())
    return {item.api: item for item in items if isinstance(item, ApiDocument)}


@pytest.fixture(scope="module")
def orders() -> dict[str, ApiDocument]:
    return read(DATA / "orders.binpb")


@pytest.mark.parametrize("name", ["orders.binpb", "stock.binpb"])
def test_a_descriptor_set_is_recognised(name: str) -> None:
    assert detect_kind(str(DATA / name)) == "grpc"


def test_a_text_that_begins_alike_is_none(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("\n1\n2 a.proto", encoding="utf-8")
    with pytest.raises(SourceError):
        detect_kind(str(tmp_path / "x"))


def test_methods_are_read_with_their_comments(orders: dict[str, ApiDocument]) -> None:
    found = orders["GetOrder"]
    assert (found.id, found.category, found.tool) == ("shop/shop.v1.Orders/GetOrder", "shop.v1", "Orders")
    assert found.description == "Finds one order.\n\nOrders of other customers are not found."
    assert found.about == "Takes orders, and says where they are."
    expected = Parameter("order_id", "string", True, "Number of the order, as on the receipt.")
    assert found.parameters == (expected,)
    assert (found.returns, found.needs) == ("Order: order_id, parent", ("order_id=order.id~9",))
    assert orders["UploadScans"].description == "Sends pictures of paper orders.", "a comment behind it"


def test_the_definition_says_how_it_is_called(orders: dict[str, ApiDocument]) -> None:
    definition = json.loads(orders["SearchOrders"].definition)
    assert definition["path"] == "/shop.v1.Orders/SearchOrders"
    assert definition["serverStreaming"] is True
    assert definition["options"]["[google.api.http]"] == {"post": "/v1/orders:search", "body": "*"}


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("GetOrder", Effect.READ),  # an HTTP method
        ("PlaceOrder", Effect.WRITE),
        ("RemoveOrder", Effect.DESTRUCTIVE),
        ("LockOrder", Effect.READ),  # an HTTP method of its own: HEAD
        ("SearchOrders", Effect.READ),  # no side effects, though it is a POST
        ("SetNote", Effect.WRITE),  # may be repeated
        ("CancelOrder", Effect.DESTRUCTIVE),  # its name
        ("Talk", Effect.UNKNOWN),
    ],
)
def test_the_effect_is_what_the_options_say(
    orders: dict[str, ApiDocument], name: str, effect: Effect
) -> None:
    assert orders[name].effect is effect


def test_streams_and_deprecated_methods_are_told(orders: dict[str, ApiDocument]) -> None:
    tags = {name: document.tags for name, document in orders.items() if document.tags}
    assert tags == {
        "SearchOrders": ("server streaming",),
        "UploadScans": ("client streaming",),
        "Talk": ("bidirectional streaming",),
    }
    assert orders["SearchOrders"].returns == "stream Order: order_id, parent"
    assert [name for name, document in orders.items() if document.deprecated] == ["CancelOrder"]


def test_messages_are_json_schema(orders: dict[str, ApiDocument]) -> None:
    schema = input_schema(orders["PlaceOrder"])
    fields = schema["properties"]
    assert schema["required"] == ["lines"]
    assert fields["speed"] == {
        "type": "string",
        "enum": ["SPEED_UNSPECIFIED", "SLOW", "FAST"],
        "description": "How fast an order is sent.",
    }
    assert fields["gifts"]["additionalProperties"] == {"type": "integer", "format": "int32"}
    assert fields["spare"]["additionalProperties"] == {"$ref": "#/$defs/shop_v1_Line"}
    assert fields["wanted_at"] == {"type": "string", "format": "date-time"}
    assert fields["cents"] == {"type": "integer", "format": "uint64", "minimum": 0}
    assert fields["card"]["description"] == "Number of a card. (at most one of card, voucher)"
    assert fields["old_note"]["deprecated"] is True
    assert "state" not in fields, "only the server sets it"
    voucher = schema["$defs"]["shop_v1_PlaceOrderRequest_Voucher"]
    assert voucher["properties"]["rest_of"]["$ref"] == "#/$defs/shop_v1_PlaceOrderRequest_Voucher"


@pytest.mark.parametrize(
    ("given", "valid"),
    [
        ({"lines": []}, True),
        ({"lines": [{"article": "a", "count": 2, "label": "L"}], "patience": "1.5s", "speed": "FAST"}, True),
        ({"lines": [], "voucher": {"code": "x", "rest_of": {"code": "y"}}, "points": 5}, True),
        ({"lines": [], "attachment": {"@type": "x/y", "more": 1}, "extra": {"a": [1]}}, True),
        ({}, False),
        ({"lines": [{}]}, False),
        ({"lines": [{"article": "a", "centimetres": 1, "label": "L"}]}, False),
        ({"lines": [], "speed": "SLOWEST"}, False),
        ({"lines": [], "patience": "soon"}, False),
        ({"lines": [], "gifts": {"a": "b"}}, False),
        ({"lines": [], "attachment": {}}, False),
        ({"lines": [], "nothing": {"a": 1}}, False),
    ],
)
def test_a_schema_takes_what_the_message_takes(
    orders: dict[str, ApiDocument], given: Any, valid: bool
) -> None:
    schema = input_schema(orders["PlaceOrder"])
    Draft202012Validator.check_schema(schema)
    assert Draft202012Validator(schema).is_valid(given) is valid


def test_messages_of_proto_2_have_required_fields_defaults_and_groups() -> None:
    (count,) = read(DATA / "stock.binpb").values()
    schema = input_schema(count)
    assert (count.id, count.tool, schema["required"]) == ("shop/stock.Shelves/Count", "Shelves", ["article"])
    assert schema["properties"]["at_least"]["default"] == 3
    assert schema["$defs"]["stock_CountRequest_Place"]["required"] == ["shelf"]


def test_a_folder_of_sets_is_read(tmp_path: Path) -> None:
    for name in ("orders.binpb", "stock.binpb"):
        (tmp_path / name).write_bytes((DATA / name).read_bytes())
    (tmp_path / "broken.pb").write_bytes(b"\xff\xff")
    items = list(open_source(f"grpc:{tmp_path}").read())
    assert sum(isinstance(item, ApiDocument) for item in items) == 10
    assert [Path(item.position).name for item in items if isinstance(item, DeadLetter)] == ["broken.pb"]


def a_set(**methods: str) -> tuple[FileDescriptorSet, FileDescriptorProto]:
    """A set with a service whose methods take these messages."""
    made = FileDescriptorSet()
    file = made.file.add(name="a.proto", package="p")
    service = file.service.add(name="S")
    for name, message in methods.items():
        service.method.add(name=name, input_type=f".p.{message}", output_type=f".p.{message}")
    return made, file


def written(path: Path, made: FileDescriptorSet) -> Path:
    path.write_bytes(made.SerializeToString())
    return path


def test_messages_in_cycles_and_maps_of_themselves_end(tmp_path: Path) -> None:
    made, file = a_set(Go="A", Map="E")
    for name, other in (("A", "B"), ("B", "A")):
        message = file.message_type.add(name=name)
        message.field.add(name="x", number=1, type=MESSAGE, label=REPEATED, type_name=f".p.{other}")
    entry = file.message_type.add(name="E")
    entry.options.map_entry = True
    entry.field.add(name="value", number=2, type=MESSAGE, label=REPEATED, type_name=".p.E")
    go, of_itself = read(written(tmp_path / "a.pb", made)).values()
    assert input_schema(go)["$defs"]["p_B"]["properties"]["x"]["items"] == {"$ref": "#/$defs/p_A"}
    assert input_schema(of_itself)["properties"]["value"]["type"] == "object"


def test_a_message_that_is_not_in_the_set_costs_its_methods_and_says_how_to_bring_it(tmp_path: Path) -> None:
    made, file = a_set(Lost="Gone", Kept="Here")
    message = file.message_type.add(name="Here")
    message.field.add(name="x", number=1, type=MESSAGE, label=OPTIONAL, type_name=".p.Gone")
    lost, kept = open_source(f"grpc:{written(tmp_path / 'a.pb', made)}").read()
    assert isinstance(lost, DeadLetter)
    assert "'.p.Gone'" in lost.reason
    assert "--include_imports" in lost.reason
    assert isinstance(kept, ApiDocument)
    assert "unresolved reference" in input_schema(kept)["properties"]["x"]["description"]


def test_10_000_methods_are_read(tmp_path: Path) -> None:
    made, file = a_set(**{f"Do{number}": "A" for number in range(10_000)})
    file.message_type.add(name="A").field.add(name="x", number=1, type=9, label=OPTIONAL)
    assert len(read(written(tmp_path / "a.pb", made))) == 10_000


def test_a_message_of_too_many_fields_is_told(tmp_path: Path) -> None:
    made, file = a_set(Go="A", Inside="B")
    for number in range(MAX_MESSAGE_FIELDS + 1):
        file.message_type.add(name="A") if number == 0 else None
        file.message_type[0].field.add(name=f"x{number}", number=number + 1, type=9, label=OPTIONAL)
    inner = file.message_type.add(name="B").field
    inner.add(name="x", number=1, type=MESSAGE, label=OPTIONAL, type_name=".p.A")
    lost, kept = open_source(f"grpc:{written(tmp_path / 'a.pb', made)}").read()
    assert isinstance(lost, DeadLetter)
    assert "more than 2,000 fields" in lost.reason
    assert isinstance(kept, ApiDocument)
    assert "left out" in input_schema(kept)["properties"]["x"]["description"]


def test_messages_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    _, file = a_set(Go="A")
    message: DescriptorProto = file.message_type.add(name="A")
    data = message.SerializeToString()
    for _ in range(3_000):  # a field of itself: `nested_type`, by its length
        data = b"\x1a" + _length(data) + data
    file.message_type.pop()
    body = file.SerializeToString() + b"\x22" + _length(data) + data
    (tmp_path / "a.pb").write_bytes(b"\x0a" + _length(body) + body)
    with pytest.raises(SourceError, match="cannot be read as a descriptor set"):
        read(tmp_path / "a.pb")


def _length(data: bytes) -> bytes:
    return bytes((len(data) & 0x7F | 0x80, len(data) >> 7 & 0x7F | 0x80, len(data) >> 14))


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'syntax = "proto3";', b"\x0a\xff\xff\xff\xff\x7f", b"\x00" * 99]
)
def test_what_is_no_set_is_refused_with_how_to_make_one(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.pb").write_bytes(data)
    with pytest.raises(SourceError, match="--descriptor_set_out"):
        list(open_source(f"grpc:{tmp_path / 'a.pb'}").read())


def test_a_set_without_services_is_refused(tmp_path: Path) -> None:
    made = FileDescriptorSet()
    made.file.add(name="a.proto").message_type.add(name="A")
    with pytest.raises(SourceError, match="describes no method"):
        read(written(tmp_path / "a.pb", made))


def test_texts_that_are_no_utf_8_are_shown_as_such(tmp_path: Path) -> None:
    made, file = a_set(Go="A")
    file.message_type.add(name="A")
    file.source_code_info.location.add(path=[6, 0, 2, 0], leading_comments="Goes.")
    data = made.SerializeToString().replace(b"\x0a\x01S", b"\x0a\x01\xff").replace(b"Goes.", b"Goe\xff.")
    (tmp_path / "a.pb").write_bytes(data)
    (go,) = read(tmp_path / "a.pb").values()
    assert (go.tool, go.description) == ("\ufffd", "Goe\ufffd.")


def test_a_set_above_the_bound_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptor_sets, "MAX_SET_BYTES", 100)
    with pytest.raises(SourceError, match="larger than 100 bytes"):
        read(DATA / "orders.binpb")


def test_without_protobuf_the_error_is_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.startswith("google.protobuf"):
            raise ImportError(name)
        return real(name, *rest)

    descriptor_sets._form.cache_clear()
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra, match=r"pip install 'kitpick\[grpc\]'"):
        read(DATA / "stock.binpb")


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**9), st.binary(max_size=8))
def test_damaged_sets_become_documents_dead_letters_or_an_error(
    tmp_path_factory: pytest.TempPathFactory, place: int, put: bytes
) -> None:
    data = (DATA / "stock.binpb").read_bytes()
    place %= len(data)
    path = tmp_path_factory.mktemp("damaged") / "a.pb"
    for damaged in (data[:place], data[:place] + put + data[place + len(put) :]):
        path.write_bytes(damaged)
        try:
            items = list(open_source(f"grpc:{path}").read())
        except SourceError as error:
            items = [error]
        assert items
