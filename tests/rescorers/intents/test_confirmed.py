"""What was confirmed for a request: same words, same meaning, by whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.intents.confirmed import OPERATOR_SAYS, SAME_COSINE, confirmed, same_words
from kitpick_rescorers.intents.votes import Intents

LUNCH = "tell the team lunch is at 12"


def said(*rows: tuple[str, str, str, str]) -> Intents:
    """Rows of request, API, client and verdict."""
    requests, apis, clients, verdicts = zip(*rows, strict=True)
    return Intents(
        apis, clients, np.zeros(len(rows)), np.zeros((len(rows), 2), np.float32), frozenset(apis), requests,
        [""] * len(rows), verdicts,
    )  # fmt: skip


def near(intents: Intents, cosine: float = 0.9) -> list[tuple[int, float]]:
    return [(row, cosine) for row in range(len(intents.apis))]


@pytest.mark.parametrize(
    "request_",
    ["Tell the team: lunch is at 12!", "please tell team lunch is at 12", "ｔell the team lunch is at 12"],
)
def test_case_marks_and_politeness_do_not_make_another_request(request_: str) -> None:
    assert same_words(request_) == same_words(LUNCH)


@pytest.mark.parametrize(
    "request_", ["tell the team lunch is at 1", "do not tell the team lunch is at 12", "move from B to A"]
)
def test_other_words_or_another_order_are_another_request(request_: str) -> None:
    assert same_words(request_) not in (same_words(LUNCH), same_words("move from A to B"))


def test_a_sample_of_the_operator_confirms_alone() -> None:
    found = said((LUNCH, "slack", "", "chosen"), ("book a room", "rooms", "", "chosen"))
    assert confirmed(found, near(found), LUNCH) == {"slack": OPERATOR_SAYS}
    assert confirmed(found, near(found), "book a desk") == {}


def test_a_quorum_confirms_and_one_client_does_not() -> None:
    one = said((LUNCH, "slack", "ann", "chosen"), (LUNCH + "!", "slack", "ann", "chosen"))
    assert confirmed(one, near(one), LUNCH) == {}
    two = said((LUNCH, "slack", "ann", "chosen"), (LUNCH, "slack", "bob", "chosen"))
    assert confirmed(two, near(two), LUNCH) == {"slack": "2 clients chose it for this request"}


def test_objections_take_back_what_choices_gave() -> None:
    rows = [(LUNCH, "slack", who, "chosen") for who in ("ann", "bob")]
    rows += [(LUNCH, "slack", who, "failed") for who in ("cyd", "dan")]
    assert confirmed(said(*rows), near(said(*rows)), LUNCH) == {}


def test_what_is_nearly_the_same_by_its_vector_is_the_same() -> None:
    found = said(("let everybody know we eat at noon", "slack", "", "chosen"))
    assert confirmed(found, near(found, SAME_COSINE), LUNCH) == {"slack": OPERATOR_SAYS}
    assert confirmed(found, near(found, SAME_COSINE - 0.01), LUNCH) == {}


@given(st.text(max_size=200))
def test_a_request_is_the_same_as_itself_whatever_surrounds_it(text: str) -> None:
    assert same_words(text) == same_words(f"  {text} !")
