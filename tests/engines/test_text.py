"""Texts of a document: deterministic, bounded, identifiers split."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sizes import examples

from kitpick_engines.document import ApiDocument, Parameter
from kitpick_engines.text import (
    first_sentences,
    lexical_fields,
    plain,
    rerank_text,
    retrieval_text,
    split_identifier,
)

DOCUMENT = ApiDocument(
    id="s/weather/get",
    source="s",
    category="Weather",
    tool="OpenWeather",
    api="getForecastByCity_v2",
    description="<p>Returns the <b>forecast</b>\n of a [city](https://example.org).</p>",
    parameters=(Parameter("cityName", description="Name of the city"),),
    examples=("Will it rain?",),
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("getUserByID", "get User By ID"),
        ("HTTPServer", "HTTP Server"),
        ("list_all-items", "list all items"),
        ("/v1/users/{userId}", "v1 users user Id"),
        ("", ""),
        ("天气", "天气"),
    ],
)
def test_identifiers_are_split_into_words(name: str, words: str) -> None:
    assert split_identifier(name) == words


def test_markup_and_link_targets_are_no_prose() -> None:
    assert plain(DOCUMENT.description) == "Returns the forecast of a city ."


def test_the_encoder_reads_what_the_api_does_first_and_its_place_last() -> None:
    assert retrieval_text(DOCUMENT) == (
        "get Forecast By City v2: Returns the forecast of a city . Will it rain? OpenWeather, Weather"
    )


def test_the_cross_encoder_reads_tool_api_description_and_parameters() -> None:
    assert rerank_text(DOCUMENT) == (
        "OpenWeather: get Forecast By City v2. Returns the forecast of a city ."
        " Parameters: city Name. (Weather)"
    )


def test_what_a_tool_says_of_itself_stands_beside_its_category() -> None:
    speaking = replace(DOCUMENT, about="For sailors.\n " + "And for others. " * 200)
    assert retrieval_text(speaking).endswith(" OpenWeather, Weather, " + plain(speaking.about, 120))
    assert rerank_text(speaking).endswith(f" (Weather, {plain(speaking.about, 120)})")
    assert rerank_text(replace(speaking, category="")).endswith(f" ({plain(speaking.about, 120)})")
    fields = lexical_fields(speaking)
    assert fields["examples"].startswith("Will it rain? For sailors. And")
    assert {**fields, "examples": ""} == {**lexical_fields(DOCUMENT), "examples": ""}


def test_the_cross_encoder_reads_the_first_sentences_of_a_long_description() -> None:
    """Notices that follow made `CopyObject` of S3 the 14th of 50 for "make a copy of a file"."""
    copied = (
        "Creates a copy of an object. Reads its tags, e.g. colours! Needs two rights? End of support notice."
    )
    assert rerank_text(replace(DOCUMENT, description=copied, parameters=())) == (
        "OpenWeather: get Forecast By City v2."
        " Creates a copy of an object. Reads its tags, e.g. colours! Needs two rights? (Weather)"
    )


@pytest.mark.parametrize(
    ("prose", "read"),
    [
        ("One. Two. Three. Four.", "One. Two. Three."),
        ("One.\n\n<p>Two</p>", "One. Two"),
        ("A" * 300 + ". " + "B" * 98 + ".", "A" * 300 + "."),
        ("A" * 300 + ". " + "B" * 97 + ".", "A" * 300 + ". " + "B" * 97 + "."),
        ("word " * 200, ("word " * 80).rstrip()),
        ("", ""),
    ],
)
def test_the_first_sentences_are_three_within_400_characters(prose: str, read: str) -> None:
    assert first_sentences(prose) == read


@given(st.text(max_size=600))
@settings(max_examples=examples(100), deadline=None)
def test_the_first_sentences_are_where_the_prose_begins(prose: str) -> None:
    read = first_sentences(prose)
    assert plain(prose).startswith(read)
    assert len(read) <= 400
    assert bool(read) == bool(plain(prose))


def test_the_lexical_index_keeps_identifiers_whole_as_well() -> None:
    fields = lexical_fields(DOCUMENT)
    assert fields["api"] == "getForecastByCity_v2 get Forecast By City v2"
    assert "cityName city Name" in fields["parameters"]
    assert fields["examples"] == "Will it rain?"


@given(st.text(max_size=200), st.text(max_size=400), st.integers(0, 40))
@settings(max_examples=50, deadline=None)
def test_any_document_has_bounded_texts(name: str, prose: str, repeated: int) -> None:
    document = ApiDocument("i", "s", name, name, name, prose * repeated, (Parameter(name),) * 50)
    assert len(retrieval_text(document)) < 1_000
    assert len(rerank_text(document)) < 4_000
    assert rerank_text(document) == rerank_text(document)
