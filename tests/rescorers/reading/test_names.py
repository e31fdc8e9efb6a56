"""Names in a request: what is one, and which API it means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.text import split_identifier
from kitpick_rescorers.reading.names import MAX_NAMES, keys_of, name_key, named, names_in, whole_name


@pytest.mark.parametrize(
    "style", ["ListObjects", "list_objects", "list objects", "LIST-OBJECTS", "listObjects", "ｌistObjects"]
)
def test_one_name_in_any_case_style_is_one_name(style: str) -> None:
    assert name_key(style) == "listobjects"


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        ("please use `Invoke` now", ("Invoke",)),
        ('what does "put object acl" need?', ("put object acl",)),
        ("store.ListObjects with prefix a/", ("store.ListObjects",)),
        ("which tool is create_contact_v2", ("create_contact_v2",)),
        ("how do I call createUser() for Ann", ("createUser()",)),
        ("GET /users/{id}/media", ("GET /users/{id}/media",)),
        ("what does /v1/orders/{order_id} give", ("/v1/orders/{order_id}",)),
        ("ruf «ListObjects» auf", ("ListObjects",)),
        ("「create_issue」を呼んで", ("create_issue",)),
        ("aws ec2 describe-instances --region eu-west-1", ("describe-instances", "eu-west-1")),
        ("what does change-resource-record-sets do", ("change-resource-record-sets",)),
    ],
)
def test_what_stands_in_quotes_or_as_code_is_a_name(request_: str, found: tuple[str, ...]) -> None:
    assert names_in(request_) == found


@pytest.mark.parametrize(
    "request_",
    [
        'create a playlist called "search"',
        "rename it to 'notes'",
        "compare read-only and e-mail for 1.5 and 3.2 litres",
        "write to ann.smith@shop.example",
        "fetch https://shop.example/a/b",
        "it's Ann's and Bob's",
        "",
    ],
)
def test_values_addresses_and_apostrophes_are_no_names(request_: str) -> None:
    assert names_in(request_) == ()


def test_a_short_request_may_be_a_name_also_behind_an_order_to_call_it() -> None:
    assert "Invoke" in whole_name("call the tool Invoke")
    assert whole_name("12") == whole_name("!?") == whole_name("x" * 1_000) == ()


def test_the_whole_name_counts_and_nothing_less(bench) -> None:  # type: ignore[no-untyped-def]
    candidates = [bench.candidate(f"s3/{api}") for api in ("PutObject", "PutObjectAcl", "put_object_acl_tag")]
    assert list(named(candidates, ("PutObjectAcl",))) == ["s3/PutObjectAcl"]
    assert list(named(candidates, ("s3.put_object",))) == ["s3/PutObject"]
    assert named(candidates, ("object",)) == {}


def test_an_ambiguous_name_brings_all_that_have_it_the_one_written_so_first(bench) -> None:  # type: ignore[no-untyped-def]
    candidates = [
        bench.candidate(name) for name in ("a/send_message", "b/sendMessage", "c/x.sendMessage", "d/send")
    ]
    assert list(named(candidates, ("sendMessage",))) == ["b/sendMessage", "a/send_message", "c/x.sendMessage"]


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,6}", fullmatch=True), min_size=2, max_size=4))
def test_a_name_is_found_in_every_style(words: list[str]) -> None:
    camel = "".join(words)
    styles = [camel, "_".join(words).lower(), " ".join(words), "-".join(words)]
    assert {name_key(style) for style in styles} == {name_key(split_identifier(camel))}
    assert names_in(f"please call {camel[0].lower()}{camel[1:]} for me")


@given(st.text(max_size=3_000))
def test_any_text_is_read_within_bounds(text: str) -> None:
    assert len(names_in(text)) <= MAX_NAMES
    assert all(name_key(name) for name in (*names_in(text), *whole_name(text)))


def test_the_keys_of_an_api_begin_with_the_most_particular(bench) -> None:  # type: ignore[no-untyped-def]
    assert keys_of(bench.candidate("store/shop.ListObjects")) == (
        "storeshoplistobjects",
        "shoplistobjects",
        "listobjects",
    )
