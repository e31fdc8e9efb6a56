"""Prose as publishers write it, made into plain text."""

from __future__ import annotations

import time

import pytest

from kitpick_ingest.prose import clip, html_text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>One.</p><p>Two.</p>", "One. Two."),
        ("<ul><li>a</li><li>b</li></ul>", "a b"),
        ("<code>Get</code>s <i>it</i>.", "Gets it."),
        ("a &lt; b &amp; c", "a < b & c"),
        ("x<!-- not > this -->y", "x y"),
        ("if a < b and b > c", "if a < b and b > c"),
        ("  many \n spaces ", "many spaces"),
        ("", ""),
    ],
)
def test_markup_goes_and_words_stay_apart(markup: str, text: str) -> None:
    assert html_text(markup) == text


@pytest.mark.parametrize("piece", ["<", "<p", "<!--", "<!-- -", "</p><", "&", "&lt;"])
def test_the_time_it_takes_grows_with_the_length_only(piece: str) -> None:
    began = time.process_time()
    html_text(piece * 20_000)
    assert time.process_time() - began < 5


def test_a_limit_holds_and_is_shown() -> None:
    assert clip("abcdef", 6) == "abcdef"
    assert clip("abc def", 5) == "abc…"
    assert len(html_text("<p>word</p>" * 1_000, 100)) <= 100
