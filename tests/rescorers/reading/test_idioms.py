"""Idioms that say nothing of what is wanted are read in words of APIs; everything else stays as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.reading.idioms import MAY_BE_IDIOM, in_plain_words
from kitpick_rescorers.reading.request_reading import read_request


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("we are out of milk", "buy milk"),
        ("I'm running low on coffee", "buy coffee"),
        ("there's no bread left", "buy bread"),
        ("we ran out of disk space on db-1", "increase disk space on db-1"),
        ("we're nearly out of ip addresses", "increase ip addresses"),
        ("take me home", "navigate to home"),
        ("drive us to 5 Main Street", "navigate to 5 Main Street"),
        ("don't let me forget the keys", "set a reminder: the keys"),
        ("drop Anna a line that I'll be late", "send a message to Anna that I'll be late"),
        ("give the team a heads-up about lunch", "send a message to the team about lunch"),
    ],
)
def test_an_idiom_is_searched_by_what_it_asks_for(said: str, meant: str) -> None:
    assert in_plain_words(said) == meant
    assert read_request(said).searched == meant


@pytest.mark.parametrize(
    "text",
    [
        "we are out of office next week",
        "are we out of milk?",
        "the replicas are out of sync",
        "list products that are out of stock",
        "how many credits do I have left",
        "why is there no space left on the device",
        "is there no milk left?",
        "we are out of butter, strike it from the list",
        "We're out of screws. Order 5,000.",
        "take me off the list",
        "bring me the report",
        "no more notifications",
        "there are no  left",
        "don't forget to lock the door",
        "drop a table",
        "draw a line through the chart",
    ],
)
def test_what_only_looks_like_one_stays(text: str) -> None:
    assert in_plain_words(text) == text


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    assert in_plain_words(text) == text or MAY_BE_IDIOM.search(text)
