"""Which texts say nothing."""

from __future__ import annotations

import pytest

from kitpick_foundation.visible import is_blank, says_nothing


@pytest.mark.parametrize(
    "text", ["", " \n", "\u200b\ufeff", "\u3164", "\x00", "\ufe0f", "\U000e0101", "\u2800"]
)
def test_what_is_drawn_as_nothing_is_blank(text: str) -> None:
    assert is_blank(text)
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["-", "...", "\u2026", "(?)", "\u200b\u2014 ", "_", "\u300c\u300d"])
def test_punctuation_is_not_blank_and_says_nothing(text: str) -> None:
    assert not is_blank(text)
    assert says_nothing(text)


@pytest.mark.parametrize("text", ["a", "7", "\u96e8", "\u2602", "%", "->", "C#", "+", "\u20ac", "\u0301a"])
def test_letters_digits_and_symbols_say_something(text: str) -> None:
    assert not is_blank(text)
    assert not says_nothing(text)
