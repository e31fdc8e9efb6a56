"""A language model puts requests of other languages into English; without it they are read as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.reading.request_reading import MAX_READ
from kitpick_rescorers.state import LONG_REQUEST

pytestmark = pytest.mark.needs("weights", "onnxruntime", "llm")

GERMAN = "Rolle das Rückstellungsprotokoll auf, wenn es morgen in Oslo schüttet"
ENGLISH = "get the weather of Oslo for tomorrow"


def profile(name: str = "kitpick") -> Profile:
    plain = load_profile(name)
    return replace(plain, first_stage=replace(plain.first_stage, translate=True))


def with_model(catalog: Catalog, url: str) -> Catalog:
    return Catalog.open(settings=replace(catalog.settings, llm_url=url, llm_model="m"))


def said(english: str) -> Any:
    return lambda body: json.dumps({"english": english})


def test_a_request_of_another_language_is_answered_as_its_translation(catalog: Catalog, fake) -> None:
    endpoint = fake(answer=said(ENGLISH))
    with with_model(catalog, endpoint.url) as opened:
        found = opened.search(GERMAN, profile=profile())
        expected = opened.search(ENGLISH, profile="kitpick")
    assert [hit.document.id for hit in found.hits] == [hit.document.id for hit in expected.hits]
    assert found.hits[0].document.api == "get_weather"
    assert not found.degraded
    shown = json.loads(endpoint.asked[0]["messages"][1]["content"])
    assert shown == {"request": GERMAN}
    assert any(f"{GERMAN} → {ENGLISH}" in step.note for step in found.trace)


def test_an_english_request_asks_no_model(catalog: Catalog, fake) -> None:
    endpoint = fake(answer=said("never"))
    with with_model(catalog, endpoint.url) as opened:
        found = opened.search(ENGLISH, profile=profile())
        assert [hit.score for hit in found.hits] == [hit.score for hit in opened.search(ENGLISH).hits]
    assert not endpoint.asked


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I cannot do that", "no translation"),
        ('{"english": "   "}', "no translation"),
        ('{"english": 7}', "no translation"),
        (json.dumps({"english": "word " * 5_000}), "no translation"),
    ],
    ids=["prose", "blank", "a number", "too long"],
)
def test_what_is_no_translation_leaves_the_request_as_it_is(
    catalog: Catalog, fake, answer: str, reason: str
) -> None:
    with with_model(catalog, fake(answer=lambda body: answer).url) as opened:
        found = opened.search(GERMAN, profile=profile())
        plain = opened.search(GERMAN)
    assert [hit.document.id for hit in found.hits] == [hit.document.id for hit in plain.hits]
    told = next(each.reason for each in found.degraded if each.stage == "translate")
    assert told.endswith(reason)


def test_an_endpoint_that_fails_or_is_not_configured_is_told(catalog: Catalog, fake) -> None:
    with with_model(catalog, fake("html").url) as opened:
        failed = opened.search(GERMAN, profile=profile())
    unset = catalog.search(GERMAN, profile=profile())
    assert "translate" in [each.stage for each in failed.degraded]
    assert "KITPICK_LLM_URL" in next(each.reason for each in unset.degraded if each.stage == "translate")


def test_an_operators_sample_stands_for_the_words_of_its_own_language(catalog: Catalog, fake) -> None:
    endpoint = fake(answer=said("convert ten euros"))
    with with_model(catalog, endpoint.url) as opened:
        weather = opened.search(ENGLISH).hits[0].document.id
        opened.intents.add([Intent(GERMAN, weather)])
        assert opened.search(GERMAN, profile=profile()).hits[0].document.id == weather


def test_no_more_is_sent_than_is_read_and_what_was_left_out_is_told(catalog: Catalog, fake) -> None:
    endpoint = fake(answer=said(ENGLISH))
    with with_model(catalog, endpoint.url) as opened:
        found = opened.search(f"{GERMAN} \ud83d " * 1_000, profile=profile())
    sent = json.loads(endpoint.asked[0]["messages"][1]["content"])["request"]
    assert len(sent) == MAX_READ
    assert "\ufffd" in sent, "half of a pair of surrogates is no character"
    assert [each.stage for each in found.degraded] == [LONG_REQUEST]
    assert found.hits[0].document.api == "get_weather"
