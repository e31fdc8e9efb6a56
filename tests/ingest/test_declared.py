"""What a description declares must come before is read from every source that can say it, as certain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kitpick import Catalog, Settings
from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument, encode_document
from kitpick_ingest.chains import MAX_NEEDS
from kitpick_ingest.declared import declared
from kitpick_ingest.entries import BadEntry
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages import Complete

SCHEMA = {"type": "object", "properties": {"customer_id": {"type": "string"}}, "required": ["customer_id"]}
BILL = {"name": "send_bill", "description": "Sends a bill", "parameters": SCHEMA}


def read(specification: str) -> Iterator[ApiDocument | DeadLetter]:
    return iter(list(open_source(specification).read()))


def functions(folder: Path, *entries: object) -> str:
    place = folder / "tools.json"
    place.write_text(json.dumps(entries))
    return f"functions:{place}"


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (None, []),
        ("log_in", ["log_in.call~10"]),
        (["log_in", "GET /me"], ["log_in.call~10", "GET /me.call~10"]),
        ([{"name": "find", "input": "customer_id", "reason": "its id"}], ["customer_id=find.call~10"]),
        ([{"name": "find a/b", "tool": "crm"}], ["crm/find a%2Fb.call~10"]),
    ],
)
def test_names_and_objects_are_calls_for_certain(value: object, texts: list[str]) -> None:
    assert [thing.text for thing in declared(value)] == texts


@pytest.mark.parametrize("value", [7, [7], [{}], [""], ["x" * 151], ["x"] * 101, {"name": "a"}])
def test_anything_else_is_no_list_of_calls(value: object) -> None:
    with pytest.raises(BadEntry, match="depends_on is no list of names"):
        declared(value)


@pytest.mark.parametrize("inside", [True, False])
def test_functions_say_it_beside_their_name(tmp_path: Path, inside: bool) -> None:
    function = BILL | {"depends_on": ["find_customer"]}
    entry = function if inside else {"type": "function", "function": BILL, "depends_on": ["find_customer"]}
    (document,) = read(functions(tmp_path, entry))
    assert isinstance(document, ApiDocument)
    assert document.needs[0] == "find_customer.call~10"
    assert any(need.startswith("customer_id=") for need in document.needs)


def test_a_function_that_says_nonsense_is_a_dead_letter_and_others_are_not(tmp_path: Path) -> None:
    bad, good = read(functions(tmp_path, BILL | {"depends_on": 7}, BILL))
    assert isinstance(bad, DeadLetter)
    assert "depends_on" in bad.reason
    assert isinstance(good, ApiDocument)


def test_tools_of_mcp_say_it_in_their_meta(tmp_path: Path) -> None:
    tool = {"name": "send_bill", "inputSchema": SCHEMA, "_meta": {"kitpick/depends_on": ["find_customer"]}}
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    (document,) = read(f"mcp:{tmp_path / 'tools.json'}")
    assert isinstance(document, ApiDocument)
    assert document.needs[0] == "find_customer.call~10"


def test_operations_of_openapi_say_it_by_operation_ids(tmp_path: Path) -> None:
    operation = {"operationId": "sendBill", "x-depends-on": ["findCustomer"], "responses": {}}
    paths = {"/bills": {"post": operation}}
    (tmp_path / "api.json").write_text(
        json.dumps({"openapi": "3.0.0", "info": {"title": "Bills", "version": "1"}, "paths": paths})
    )
    (document,) = read(f"openapi:{tmp_path / 'api.json'}")
    assert isinstance(document, ApiDocument)
    assert document.needs[0] == "findCustomer.call~10"


def test_lines_of_documents_say_it_beside_their_fields(tmp_path: Path) -> None:
    document = ApiDocument("mine/crm/send", "mine", "", "crm", "send", needs=("customer.id~9",))
    line = json.loads(encode_document(document)) | {"depends_on": ["find"]}
    (tmp_path / "lines.jsonl").write_text(json.dumps(line) + "\n" + encode_document(document).decode() + "\n")
    first, second = read(f"documents:{tmp_path / 'lines.jsonl'}")
    assert isinstance(first, ApiDocument)
    assert isinstance(second, ApiDocument)
    assert (first.needs, second.needs) == (("find.call~10", "customer.id~9"), ("customer.id~9",))


def test_what_is_declared_comes_before_what_is_inferred(tmp_path: Path) -> None:
    inputs = {f"thing{number}_id": {"type": "string"} for number in range(20)}
    schema = {"type": "object", "properties": inputs, "required": list(inputs)}
    entry = BILL | {"parameters": schema, "depends_on": ["log_in"]}
    (document,) = read(functions(tmp_path, entry))
    assert isinstance(document, ApiDocument)
    assert document.needs[0] == "log_in.call~10"
    assert len(document.needs) == MAX_NEEDS


def test_nothing_is_inferred_of_an_input_that_is_declared(tmp_path: Path) -> None:
    entry = BILL | {"depends_on": [{"name": "find_customer", "input": "customer_id"}]}
    (document,) = read(functions(tmp_path, entry))
    assert isinstance(document, ApiDocument)
    assert document.needs == ("customer_id=find_customer.call~10",)


@pytest.mark.parametrize("tool", ["", "crm"])
def test_a_search_draws_in_what_is_declared(tmp_path: Path, tool: str) -> None:
    """Nothing in the name or the words of what comes before says so."""
    before = {"name": "open_ledger", "description": "Prepares accounts", "parameters": {}}
    others = [{"name": f"bill_{n}", "description": "A bill and bills"} for n in range(5)]
    named = {"name": "open_ledger", "tool": tool} if tool else "open_ledger"
    group = {"name": tool, "functions": [before]} if tool else before
    entries = [BILL | {"parameters": {}, "depends_on": [named]}, *others, group]
    documents = [each for each in read(functions(tmp_path, *entries)) if isinstance(each, ApiDocument)]
    assert len(documents) == 7
    settings = Settings(intents=tmp_path / "samples")
    with Catalog.open(f"sqlite:{tmp_path / 'c.db'}", settings=settings) as catalog:
        index = catalog.engine.ensure(IndexSchema("none", 1, 1))
        with catalog.engine.writing(index) as writer:
            writer.write([IndexedDocument(each, [1.0]) for each in documents])
        result = catalog.search("send a bill", 2, profile=load_profile("bm25").then(Complete()))
    assert [hit.document.api for hit in result.hits] == ["send_bill", "open_ledger"]
    assert result.hits[1].reasons[-1] == "complete: is called before send_bill"
    assert [step.api for step in result.plan] == ["open_ledger", "send_bill"]
