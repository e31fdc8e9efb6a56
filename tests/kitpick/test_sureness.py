"""How sure an answer is, in words."""

from __future__ import annotations

import pytest

from kitpick.result import UNLIKELY, sureness, tenths, unlikely_because
from kitpick_rescorers.request import Hit
from kitpick_rescorers.state import Degradation


@pytest.mark.parametrize(
    ("probability", "words"),
    [
        (0.0, "hardly ever right (0%)"),
        (0.04, "hardly ever right (4%)"),
        (0.25, "right in about 3 of 10 (25%)"),
        (0.81, "right in about 8 of 10 (81%)"),
        (0.97, "right nearly always (97%)"),
        (1.0, "right nearly always (100%)"),
    ],
)
def test_a_probability_is_said_in_words_with_the_number_behind_it(probability: float, words: str) -> None:
    assert sureness(probability) == words


def test_tenths_are_rounded_as_the_page_rounds_them() -> None:
    assert [tenths(value / 100) for value in (0, 4, 5, 14, 25, 45, 94, 95, 100)] == [
        0,
        0,
        1,
        1,
        3,
        5,
        9,
        10,
        10,
    ]


def hits(*probabilities: float | None) -> list[Hit]:
    return [Hit(str(rank), rank, 0.0, value) for rank, value in enumerate(probabilities, start=1)]


def test_an_answer_is_called_unlikely_where_even_its_surest_hit_is() -> None:
    assert unlikely_because(hits(0.01, 0.05, None), ()) == "the best is right in about 5% of such cases"
    assert unlikely_because(hits(0.01, UNLIKELY), ()) == ""
    assert unlikely_because(hits(None, None), ()) == "", "nobody knows"
    assert unlikely_because(hits(), ()) == ""


def test_a_request_in_a_language_that_is_hardly_read_is_not_called_unlikely() -> None:
    assert unlikely_because(hits(0.01), (Degradation("vectors", "none are stored"),))
    assert unlikely_because(hits(0.01), (Degradation("language", "it is in Greek"),)) == ""
