"""Slips of spelling: which words are suspects, and what they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.reading.spelling import MAX_SUSPECTS, corrections, respelt, suspects, words_of

_ENGLISH = """the order for user please from bucket show with list team about"""
ENGLISH = frozenset(_ENGLISH.split())
WORDS = words_of(["cancel an order", "invoice of a customer", "schedule a meeting"])


def corrected(text: str) -> str:
    found = suspects(text, ENGLISH.__contains__)
    return respelt(text, found, corrections(found, WORDS))


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("cansel the order 123", "cancel the order 123"),
        ("Cancle the order", "Cancel the order"),
        ("please show the invioce.", "please show the invoice."),
        ("shedule the meeeting with the team", "schedule the meeting with the team"),
        ("delte the order", "delete the order"),
        ("the customre's order", "the customer's order"),
        ('"cancel the invioce for the user"', '"cancel the invoice for the user"'),
    ],
)
def test_a_slip_is_corrected_where_the_catalog_has_the_word(typed: str, meant: str) -> None:
    assert corrected(typed) == meant


@pytest.mark.parametrize(
    "text",
    [
        "cancel the order",
        "show the order for Cansel",
        'show the order "cansel"',
        'show the order called "the cansel invioce for the user"',
        "show the order of `the cansel invioce please`",
        "show cansel@shop.example and /cansel/x",
        "show the order CANSEL",
        "show the zebra for the user",
        "dont show the order cuz it shud wait",
        "the menu of the team",
        "Storniere bitte meine letzte Bestellung vollständig",
        "",
    ],
)
def test_names_quotes_addresses_and_other_words_stay(text: str) -> None:
    assert corrected(text) == text


def test_of_equally_near_words_the_one_with_the_same_first_letter_is_meant() -> None:
    found = suspects("the itme", ENGLISH.__contains__)
    words = words_of(["time to live", "a time", "an item"])
    assert respelt("the itme", found, corrections(found, words)) == "the item"


@given(st.text(max_size=500))
def test_whatever_is_written_is_changed_only_in_its_suspects(text: str) -> None:
    found = suspects(text, ENGLISH.__contains__)
    assert len(found) <= MAX_SUSPECTS
    assert all(text[each.start : each.end] == each.word for each in found)
    assert respelt(text, found, {}) == text


@given(st.sampled_from(["cancel", "invoice", "customer", "schedule"]), st.integers(0, 8))
def test_two_exchanged_letters_are_one_slip(word: str, place: int) -> None:
    place %= len(word) - 1
    typed = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    assert corrected(f"the {typed} for the user") == f"the {word} for the user"
