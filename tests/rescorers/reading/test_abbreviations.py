"""Abbreviations: those that a catalog explains, and those of the written list."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.contract import Filter
from kitpick_rescorers.reading.abbreviations import MAX_ABBREVIATIONS, WRITTEN, abbreviations, written_out
from kitpick_rescorers.respelling import ReadAs, SecondLook

TEXTS = (
    "repo: create pull request. Open a pull request",
    "hr: request vacation. Days of paid leave",
    "compute: run instances. Start servers in Elastic Compute Cloud (EC2)",
    "legal: file. A Subject Access Request (SAR) of a person",
)


def read(text: str, texts: tuple[str, ...] = TEXTS) -> str:
    return written_out(text, abbreviations(text, texts), texts)[0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("create PR", "create pull request (PR)"),
        ("open a pr, please", "open a pull request (pr), please"),
        ("PTO next friday", "vacation (PTO) next friday"),
        ("start an EC2", "start an elastic compute cloud (EC2)"),
        ("answer the SAR of Ann", "answer the subject access request (SAR) of Ann"),
    ],
)
def test_an_abbreviation_is_written_out_where_something_seen_has_the_words(typed: str, meant: str) -> None:
    assert read(typed) == meant


@pytest.mark.parametrize("text", ["create PR", "answer the SAR", "TTS", "the sar of it", "pr.example/pr", ""])
def test_without_such_a_text_it_stays(text: str) -> None:
    assert read(text, ("weather: now. Weather of a city",)) == text


def test_what_is_written_out_already_stays() -> None:
    assert read("open a pull request (PR)") == "open a pull request (PR)"


@given(st.text(max_size=300), st.lists(st.text(max_size=100), max_size=3))
def test_any_text_is_read_within_bounds(text: str, texts: list[str]) -> None:
    found = abbreviations(text, texts)
    assert len(found) <= MAX_ABBREVIATIONS
    assert written_out(text, found, ())[0] == text


def test_the_written_list_has_long_forms_in_plain_words() -> None:
    assert {"k8s", "pr", "pto", "tts", "eta", "dm", "vm", "lb", "sg"} <= WRITTEN.keys()
    assert all(forms and all(form == form.lower().strip() for form in forms) for forms in WRITTEN.values())


def test_a_name_is_not_written_out(bench) -> None:  # type: ignore[no-untyped-def]
    found = [bench.candidate("ec2/CreateVpc", lexical=1)]
    untouched = SecondLook(None, None, Filter())  # type: ignore[arg-type]
    assert untouched.at("create vpc", found) == ReadAs("create vpc")


def test_a_request_in_another_language_keeps_what_texts_explain(bench) -> None:  # type: ignore[no-untyped-def]
    found = [bench.candidate("iam/users", lexical=1, text="Users of Identity and Access Management (IAM)")]
    look = SecondLook(None, None, Filter())  # type: ignore[arg-type]
    assert look.at("liste os usuários do IAM", found) == ReadAs("liste os usuários do IAM")


def test_several_are_abbreviated_as_people_write_it(bench) -> None:  # type: ignore[no-untyped-def]
    catalog = SimpleNamespace(search=lambda request: [])
    encoder = SimpleNamespace(knows=lambda word: True)
    look = SecondLook(catalog, encoder, Filter())  # type: ignore[arg-type]
    for typed, meant in (("PRs", "pull requests"), ("VMs", "virtual machines"), ("K8s", "kubernetes")):
        found = [bench.candidate("a/b", lexical=1, text=f"Lists {meant}")]
        assert look.at(f"list all {typed}", found).text == f"list all {meant} ({typed})"
