"""A hit says in one sentence why it is found, and an answer how its request was read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kitpick.ui.why import asked_words, reads_as, why_found
from kitpick_engines.contract import Candidate, Place
from kitpick_engines.document import ApiDocument
from kitpick_rescorers.state import QueryKindEstimate

FIRST, LATER = Place(1, 9.0), Place(4, 2.0)
API = ApiDocument("s/mail/send_email", "s", "office", "mail", "send_email", "Sends a message to a recipient.")
REQUEST = "Send an email to Bob"


def candidate(**places: Any) -> Candidate:
    return Candidate(API.id, API.category, API.tool, API.api, "", np.zeros(2, np.float32), **places)


@pytest.mark.parametrize(
    ("places", "said"),
    [
        ({"lexical": FIRST, "dense": LATER}, "both the words and the meaning of the request point to it, "
         "which is first by words."),
        ({"lexical": FIRST, "dense": FIRST}, "both the words and the meaning of the request point to it, "
         "which is first by words and by meaning."),
        ({"lexical": LATER}, "the words of the request point to it."),
        ({"dense": LATER, "intent": FIRST}, "the meaning of the request points to it."),
        ({"sentence": FIRST}, "a sentence of the request points to it."),
        ({"intent": FIRST}, "samples of requests point to it."),
        ({}, "it goes with other APIs found here."),
    ],
)  # fmt: skip
def test_the_sentence_says_which_words_and_which_rankings(places: dict[str, Place], said: str) -> None:
    found = why_found(asked_words(REQUEST), API, candidate(**places), ["fuse: dense rank 1"])
    assert found == f"Its name and description have the request's words “Send” and “email”; {said}"


@pytest.mark.parametrize(
    ("request_text", "begin"),
    [
        ("the recipients", "Its description has the request's word “recipients”; "),
        ("emails", "Its name has the request's word “emails”; "),
        ("weather", "The words of"),
        ("", "The words of"),
        ("send " + "x" * 20_000, "Its name and description have the request's word “send”; "),
        ("sending sends SEND send", "Its name and description have the request's word “sending”; "),
    ],
)
def test_the_words_are_the_requests_own(request_text: str, begin: str) -> None:
    assert why_found(asked_words(request_text), API, candidate(lexical=LATER), ()).startswith(begin)


def test_function_words_of_another_language_are_no_reason() -> None:
    asked = asked_words("Schließ die Haustür ab und stell die Heizung im Bad auf 21 Grad")
    assert list(asked.values()) == ["Schließ", "Haustür", "stell", "Heizung", "Bad", "21", "Grad"]
    assert list(asked_words("list the buckets").values()) == ["list", "buckets"]


def test_many_words_are_a_few() -> None:
    words = asked_words("send email mail message recipient messages sender office")
    assert why_found(words, API, candidate(dense=LATER), ()).count("“") == 5


def test_what_a_rule_says_comes_first() -> None:
    reasons = ["fuse: lexical rank 1", "reading: its name is asked for: 'send_email'", "pack: 30 tokens"]
    found = why_found({}, API, candidate(lexical=LATER), reasons)
    assert found == "Its name is asked for: 'send_email'; the words of the request point to it."


@pytest.mark.parametrize(
    ("kind", "places", "said"),
    [
        (None, {}, ""),
        (QueryKindEstimate("multi", 0.8), {}, "several tasks"),
        (QueryKindEstimate("single", 0.33), {"dense": FIRST}, "one task"),
        (QueryKindEstimate("single", 0.33), {"sentence": FIRST}, "several sentences, each of which is asked"),
    ],
)
def test_a_request_is_read_in_words(
    kind: QueryKindEstimate | None, places: dict[str, Place], said: str
) -> None:
    assert reads_as("find a hotel", kind, [candidate(**places)]).startswith(said)


def test_a_request_in_another_language_may_have_a_task_that_was_missed() -> None:
    one = QueryKindEstimate("single", 0.15)
    assert reads_as("create a bucket and upload a file", one, []) == "one task"
    german = reads_as("Lege einen Bucket an und lade eine Datei hoch", one, [])
    assert german == (
        "one task, though a second one is easily missed in this language: if there are two, ask for each"
    )
