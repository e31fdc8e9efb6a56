"""The deeds that a request asks for, the opposite ones, and what it does to data."""

from __future__ import annotations

import pytest

from kitpick_engines.document import Effect
from kitpick_rescorers.reading.deeds import MAY_OPPOSE, asked_deeds, effects_asked, milder_deeds, opposites
from kitpick_rescorers.reading.verbs import asks_to_end, verb_stem


@pytest.mark.parametrize(
    ("request_", "asked", "against"),
    [
        ("switch the alarm on", "enable", "disable"),
        ("bring the stopped instance back up", "start", "stop"),
        ("shut it down for now", "stop", "start"),
        ("call the order off", "cancel", "create"),
        ("say no to the invitation", "reject", "accept"),
    ],
)
def test_a_phrase_asks_for_a_deed_and_against_its_opposite(request_: str, asked: str, against: str) -> None:
    deeds = asked_deeds(request_)
    assert verb_stem(asked) in deeds
    assert verb_stem(against) in opposites(deeds)
    assert verb_stem(against) not in deeds


def test_who_asks_for_both_is_against_neither() -> None:
    assert opposites(asked_deeds("stop and start it")) == frozenset()


@pytest.mark.parametrize(
    ("request_", "effects"),
    [
        ("who is subscribed to the topic?", {Effect.READ}),
        ("how many orders are there?", {Effect.READ}),
        ("save the dashboard", {Effect.WRITE}),
        ("delete the dashboard", set()),
        ("the weather tomorrow", set()),
    ],
)
def test_what_a_request_does_to_data_is_told_only_where_it_says_so(
    request_: str, effects: set[Effect]
) -> None:
    assert effects_asked(request_) == effects


@pytest.mark.parametrize("name", ["StopInstances", "unmute_user", "closingAccount", "RevokeGrant", "orders"])
def test_a_name_with_a_verb_that_has_an_opposite_is_looked_at(name: str) -> None:
    assert MAY_OPPOSE.search(name)


@pytest.mark.parametrize("name", ["DescribeSpotFleetRequests", "GetWeather", "list_buckets", ""])
def test_other_names_are_not(name: str) -> None:
    assert not MAY_OPPOSE.search(name)


def test_a_milder_end_is_none_for_good() -> None:
    assert milder_deeds("detach it from the group") == {verb_stem("detach")}
    assert milder_deeds("delete the group") == frozenset()


@pytest.mark.parametrize(
    ("request_", "ends"),
    [
        ("check whether Eve could delete buckets", False),
        ("see if you can delete the bucket", True),
        ("take a snapshot before the release", False),
        ("release the address", True),
        ("that room should be gone for good", True),
        ("abort the export", True),
    ],
)
def test_an_end_is_asked_for_by_a_verb_and_not_by_a_noun_or_a_right(request_: str, ends: bool) -> None:
    assert asks_to_end(request_) is ends
