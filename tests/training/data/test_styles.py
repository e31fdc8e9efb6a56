from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_training.data.styles import (
    drop_words,
    enumerating_request,
    in_tool,
    narrative_request,
    roughened,
    short_request,
    thing_asked,
    with_typos,
)

CLAUSES = ["get the weather", "send a parcel", "list users"]


@pytest.mark.parametrize("style", [short_request, narrative_request])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_every_clause_is_in_the_request(style, count):
    for seed in range(50):
        text = style(CLAUSES[:count], random.Random(seed)).lower()
        assert all(clause in text for clause in CLAUSES[:count])


def test_an_enumeration_asks_for_things():
    text = enumerating_request(["get channel clips", "list channel details"], random.Random(1))
    assert "the channel clips and the channel details" in text
    assert thing_asked("get a user") == "a user"
    assert thing_asked("send a parcel") == "a way to send a parcel"


def test_the_tool_is_named_without_the_word_api():
    assert in_tool("list users", "Acme REST API v2", random.Random(0)).endswith(" Acme")


def test_equal_seeds_give_equal_requests():
    assert narrative_request(CLAUSES, random.Random(7)) == narrative_request(CLAUSES, random.Random(7))


@settings(deadline=None)
@given(st.text(min_size=1, max_size=80), st.integers(0, 1000))
def test_roughening_never_loses_a_request(text, seed):
    rng = random.Random(seed)
    assert drop_words(text, 0.9, rng) or not text.split()
    assert len(with_typos(text, 3, rng)) >= len(text) - 3
    assert isinstance(roughened(text, rng), str)
