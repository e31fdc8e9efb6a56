"""What is suggested for a misspelt name."""

from __future__ import annotations

import pytest

from kitpick_foundation.errors import LOOKED_AT, suggestion


@pytest.mark.parametrize(
    ("name", "known", "text"),
    [
        ("Finanze", ["Finance", "Weather"], "did you mean 'Finance'?"),
        ("WEATHER", ["Finance", "weather"], "did you mean 'weather'?"),
        ("recal@5", ["recall@5", "recall@3"], "did you mean 'recall@5' or 'recall@3'?"),
        ("zzz", ["Finance", "Weather"], "known are 'Finance', 'Weather'"),
        ("zzz", [], ""),
    ],
)
def test_the_nearest_names_are_suggested_else_the_known_ones(name: str, known: list[str], text: str) -> None:
    assert suggestion(name, known) == text


def test_of_many_names_the_first_are_listed() -> None:
    assert suggestion("?", [f"n{i}" for i in range(1_010)]).endswith("'n7' and 1,002 more")


def test_of_very_many_names_only_the_first_are_compared() -> None:
    names = [f"n{i}" for i in range(LOOKED_AT)]
    assert suggestion("weather", [*names, "weather"]).endswith(f"and {LOOKED_AT - 8:,} more")
    assert suggestion("weather", ["weather", *names]) == "did you mean 'weather'?"


def test_a_name_may_be_written_another_way() -> None:
    assert (
        suggestion("wheather", ["Sky/Weather"], {"Weather": "Sky/Weather"}) == "did you mean 'Sky/Weather'?"
    )


def test_a_name_that_is_near_in_two_spellings_is_suggested_once() -> None:
    assert suggestion("tool", ["Tool", "tool"], {"tools": "Tool"}) == "did you mean 'Tool'?"
