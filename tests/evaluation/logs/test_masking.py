"""Secrets and personal data are replaced, and everything else stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_evaluation.logs import masked

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.SflKxwRJSMeKKF2QT4"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail bob.smith+x@mail.example.co.uk now", "mail <email> now"),
        ("call +49 (0)89 1234-5678 today", "call <phone> today"),
        ("call 555-867-5309", "call <phone>"),
        ("pay with 4111 1111 1111 1111", "pay with <card>"),
        ("from DE89 3704 0044 0532 0130 00 please", "from <iban> please"),
        ("ping 192.168.10.20", "ping <ip>"),
        (f"use {JWT}", "use <token>"),
        ("use sk-proj-abcdefghijklmnop1234", "use <token>"),
        ("key AKIAIOSFODNN7EXAMPLE", "key <token>"),
        ("Authorization: Bearer abc.def-123456", "Authorization: Bearer <token>"),
        ("my password is hunter2 ok", "my password is <secret> ok"),
        ("api_key=abc123", "api_key=<secret>"),
        ("open https://bob:pw@host.example/x", "open https://<credentials>@host.example/x"),
        ("0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d", "<token>"),
    ],
)
def test_what_is_private_is_replaced_by_what_it_was(text: str, expected: str) -> None:
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "weather on 2026-11-21 at 10:30",
        "order 1234567890123456 is late",
        "price of 1,299.00 EUR for 3 items",
        "version 1.2.3 of the token endpoint",
        "convert 20 euros to yen",
        "rename internationalization_configuration_file",
    ],
)
def test_what_a_request_is_about_stays(text: str) -> None:
    assert masked(text) == text


@given(
    st.text(max_size=80),
    st.from_regex(r"[a-z]{3,10}@[a-z]{3,10}\.(com|org)", fullmatch=True),
    st.text(max_size=80),
)
def test_an_address_never_survives_whatever_stands_around_it(before: str, address: str, after: str) -> None:
    assert address not in masked(f"{before} {address} {after}")


@given(st.text(max_size=200))
def test_masking_twice_is_masking_once(text: str) -> None:
    assert masked(masked(text)) == masked(text)


@pytest.mark.parametrize("unit", ["a-", "a/", "1-", "1+", "_-"])
def test_a_long_text_of_signs_costs_no_more_than_a_long_text_of_words(unit: str) -> None:
    """Half a second of processor time here; a pattern that looks ahead to the end takes a minute."""
    started = time.process_time()
    for _ in range(3):
        masked(unit * 20_000)
    assert time.process_time() - started < 20
