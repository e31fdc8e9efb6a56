"""Which texts say nothing."""

from __future__ import annotations

import json

import pytest

from kitpick_foundation.visible import harmless_json, is_blank, printable, says_nothing


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


def test_what_a_terminal_would_obey_is_replaced() -> None:
    assert printable("a\x1b[31m\rb\x9b\u202e") == "a\ufffd[31m\ufffdb\ufffd\ufffd"
    assert printable("one\n\ttwo \u96e8 \u200d") == "one\n\ttwo \u96e8 \u200d"


def test_json_says_the_same_without_what_a_terminal_would_obey() -> None:
    said = {"a\x9b31m": ["\u202e\u2066", "\u2028\x85", "\x1b]8;;\x07", "é \u200d 雨", "\\u009b"]}
    text = harmless_json(json.dumps(said, ensure_ascii=False))
    assert json.loads(text) == said
    assert printable(text) == text
    assert len(text.splitlines()) == 1
    assert "é \u200d 雨" in text
