"""Requests in languages that nothing here reads: told by name, and answered only where a word is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.glossary import LANGUAGES
from kitpick_rescorers.reading.languages import ENGLISH, NAMES, language_of, unread_languages
from kitpick_rescorers.reading.loan_words import beginnings, sharing
from kitpick_rescorers.reading.request_reading import read_request
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.stages import Fuse

SENTENCES = Path(__file__).resolve().parents[2] / "data" / "languages" / "unread.txt"
SHOP = {
    "shop/createOrder": "Creates an order of a customer",
    "shop/deleteOrder": "Deletes an order",
    "cloud/restartServer": "Restarts a server",
}


def sentences() -> Iterator[tuple[str, str]]:
    for line in SENTENCES.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            language, _, text = line.partition("|")
            yield language, text


def answer(bench, query: str, texts: dict[str, str] = SHOP) -> Rescored:  # type: ignore[no-untyped-def]
    candidates: list[Candidate] = [
        bench.candidate(name, text=text, lexical=place) for place, (name, text) in enumerate(texts.items(), 1)
    ]
    return rescore(RescoreRequest(query, candidates), Profile("fused", (Fuse(),)), Models())


def test_every_sentence_is_told_by_its_language() -> None:
    wrong = [(language, text) for language, text in sentences() if language_of(text) != language]
    assert wrong == []


def test_a_sentence_that_nothing_reads_is_refused_by_the_name_of_its_language(bench) -> None:  # type: ignore[no-untyped-def]
    for language, text in sentences():
        found = answer(bench, text)
        (said,) = found.degraded
        assert (said.stage, NAMES[language] in said.reason) == ("language", True)
        assert read_request(text).english == ()
        known = {"order", "stop", "serve"} & beginnings(text)
        assert found.abstained is not bool(known), text
        if not known:
            assert f"{NAMES[language]}, which nothing here reads" in found.abstained_because


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("restartujte prosím server web-1", "cloud/restartServer"),
        ("prosím zavolej `deleteOrder`", "shop/deleteOrder"),
        ("διέγραψε με deleteOrder την 17", "shop/deleteOrder"),
        ("ठीक है, server फिर से चालू करो", "cloud/restartServer"),
        ("genstart serveren nu", "cloud/restartServer"),
    ],
)
def test_what_it_names_or_has_in_common_is_found_first(bench, text: str, first: str) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, text)
    assert not found.abstained
    assert found.results[0].id == first


def test_descriptions_in_the_same_language_are_found(bench) -> None:  # type: ignore[no-untyped-def]
    texts = {"a/ena": "Ακυρώνει μια παραγγελία", "a/dyo": "Δείχνει τα τιμολόγια", "a/tria": "แสดงใบแจ้งหนี้"}
    assert answer(bench, "Δείξε όλα τα τιμολόγια", texts).results[0].id == "a/dyo"
    assert answer(bench, "แสดงใบแจ้งหนี้ทั้งหมด", texts).results[0].id == "a/tria"


def test_what_tells_a_language_is_no_english_and_is_told_of_no_other() -> None:
    from kitpick_rescorers.reading.verbs import ACTION_WORDS

    languages = unread_languages()
    assert not set(languages) & set(LANGUAGES)
    for own in languages.values():
        assert own.deeds
        assert own.words
        assert not own.deeds & ACTION_WORDS
        assert own.letters >= set(own.marks)


@pytest.mark.parametrize(
    "text",
    [
        "everybody on staff per Workday",
        "wait, Finn had 33",
        "al versons of nokogiri gem",
        "resume the naïve upload",
        "vis a vis the order",
        "send Đorđe Petrović an email",
        "directions to Łódź and Ústí nad Labem",
        "mail añejo@x.org",
    ],
)
def test_english_with_foreign_names_stays_english(text: str) -> None:
    assert language_of(text) == ENGLISH


@given(st.text(max_size=300))
def test_any_text_has_beginnings_that_it_shares_with_itself(text: str) -> None:
    asked = beginnings(text)
    assert all(1 <= len(part) <= 10 for part in asked)
    assert sharing(frozenset(), ()) == {}


def test_what_an_encoder_says_it_reads_stays_in_the_order_of_its_vectors(bench) -> None:  # type: ignore[no-untyped-def]
    names = ("c/StopServer", "c/ListThings")
    candidates = [bench.candidate(name, dense=rank) for rank, name in enumerate(names, start=1)]
    profile = Profile("fused", (Fuse(lexical=0.0),))
    asked = RescoreRequest("σταμάτησε την υπηρεσία", candidates)
    refused = rescore(asked, profile, Models())
    assert refused.abstained
    found = rescore(replace(asked, encoder_reads=True), profile, Models())
    assert not found.abstained
    assert [hit.id for hit in found.results] == list(names)
    assert "which the encoder reads" in found.degraded[0].reason


def test_chinese_shares_every_two_signs() -> None:
    assert beginnings("知乎热榜") & beginnings("获取知乎热榜，包含时事热点") >= {"知乎", "乎热", "热榜"}
