from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_evaluation.health.self_retrieval import MAX_WORDS, clause, first_sentence, without_clause


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("Returns a user.", "get a user"),
        ("Retrieves all invoices of a customer", "get all invoices of a customer"),
        ("Creates an order", "create an order"),
        ("Copies one file", "copy one file"),
        ("Deleting a group", "delete a group"),
        ("Next Data in Queue", "get next Data in Queue"),
        ("SMS message status", "get SMS message status"),
        ("This endpoint allows you to search tracks. Paging is supported.", "search tracks"),
    ],
)
def test_summary_becomes_what_somebody_would_ask(summary, expected):
    assert clause(summary) == expected


@pytest.mark.parametrize("summary", ["", "Users", "word " * (MAX_WORDS + 1)])
def test_too_short_or_too_long_text_is_no_clause(summary):
    assert clause(summary) is None


def test_the_answer_does_not_begin_with_the_question():
    assert without_clause("Lists users. Needs a token.", "lists users") == "Needs a token."
    assert without_clause("Needs a token.", "Lists users") == "Needs a token."


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_gives_a_single_line_or_nothing(text):
    found = clause(text)
    assert "\n" not in first_sentence(text)
    assert found is None or 1 < len(found.split()) <= MAX_WORDS + 1
