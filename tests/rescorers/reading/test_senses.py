"""Words in another sense than that of APIs: nothing that merely has the word answers them."""

from __future__ import annotations

import pytest

from kitpick_engines.contract import Candidate
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.senses import MAY_MEAN_OTHERWISE, other_sense
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.stages import Fuse

DATABASE = "Database CreateTable. Adds a new table to your account"
RESTAURANT = "Places reserve. Reserves seats in a restaurant"


@pytest.mark.parametrize(
    "request_",
    [
        "book a table for two",
        "Please reserve us a table for dinner",
        "set the table for six",
        "kick the bucket",
        "a bucket list for Iceland",
        "jump the queue at the bakery",
        "a role in a movie for my daughter",
        "my key is stuck in the lock",
    ],
)
def test_a_word_of_everyday_life_is_no_thing_of_an_api(request_: str) -> None:
    assert other_sense(request_, [DATABASE]).startswith("the request speaks of ")
    assert MAY_MEAN_OTHERWISE.search(request_)


@pytest.mark.parametrize(
    "request_",
    [
        "book a table for two",
        "find a table for dinner tonight, please",
    ],
)
def test_what_is_about_it_is_found(request_: str) -> None:
    assert other_sense(request_, [DATABASE, RESTAURANT]) == ""


@pytest.mark.parametrize(
    "request_",
    [
        "create a table for customers",
        "make a table for two regions",
        "find the bucket with the logs",
        "list buckets",
        "show me the bucket list",
        "who has a role in the project",
        "call the function",
        "send Lena on the chat: 'your table for two is ready'",
        "add Marisol, +34 611 204 887, table for four at nine, to the data of the bookings",
        "stop the queue",
    ],
)
def test_what_apis_speak_of_is_searched(request_: str) -> None:
    assert other_sense(request_, [DATABASE]) == ""


def answer(bench, query: str, *texts: str) -> Rescored:  # type: ignore[no-untyped-def]
    names = ("db/CreateTable", "places/reserve")
    found: list[Candidate] = [
        bench.candidate(name, text=text, lexical=place)
        for place, (name, text) in enumerate(zip(names, texts, strict=False), start=1)
    ]
    return rescore(RescoreRequest(query, found), Profile("fused", (Fuse(),)), Models())


def test_the_answer_abstains_and_says_why(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, "book a table for two", DATABASE)
    assert found.abstained
    assert "a table to eat at" in found.abstained_because
    assert not answer(bench, "book a table for two", DATABASE, RESTAURANT).abstained


@pytest.mark.parametrize(
    "query",
    [
        "reserveer een tafel voor twee",
        "zarezerwuj stolik dla dwojga",
        "einen Tisch für zwei reservieren",
        "reserva una mesa para dos",
        "prenota un tavolo per due",
        "забронируй столик на двоих",
    ],
)
def test_so_does_one_to_a_request_in_another_language(bench, query: str) -> None:  # type: ignore[no-untyped-def]
    assert answer(bench, query, DATABASE).abstained
    assert not answer(bench, query, DATABASE, RESTAURANT).abstained


def test_what_is_named_is_found_all_the_same(bench) -> None:  # type: ignore[no-untyped-def]
    found = answer(bench, 'book a table for two with "CreateTable"', DATABASE)
    assert not found.abstained
    assert found.results[0].id == "db/CreateTable"
