"""Nearest sample requests vote, and nobody votes twice."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.intents import votes
from kitpick_rescorers.intents.votes import Intents, near_samples, trust, vote

DAY = 86_400.0
NOW = 1_000 * DAY


def intents(*rows: tuple[str, str, float, float]) -> Intents:
    """Rows of api, client, cosine to the request (1, 0), age in days."""
    vectors = [(cosine, np.sqrt(1 - cosine**2)) for _, _, cosine, _ in rows]
    return Intents(
        [api for api, *_ in rows],
        [client for _, client, *_ in rows],
        np.array([NOW - age * DAY for *_, age in rows]),
        np.array(vectors, dtype=np.float32).reshape(len(rows), 2),
        frozenset(api for api, *_ in rows),
        [""] * len(rows),
        [""] * len(rows),
        ["chosen"] * len(rows),
    )


def order(found: Intents) -> list[str]:
    return list(vote(found, near_samples(found, np.array([1.0, 0.0], dtype=np.float32)), NOW))


def test_the_api_of_the_nearest_samples_comes_first() -> None:
    assert order(intents(("a", "", 0.7, 0), ("b", "", 0.95, 0), ("c", "", 0.6, 0))) == ["b", "a", "c"]


def test_several_samples_weigh_more_than_one() -> None:
    assert order(intents(("a", "", 0.9, 0), ("b", "", 0.88, 0), ("b", "", 0.87, 0))) == ["b", "a"]


def test_what_is_not_near_does_not_vote() -> None:
    assert order(intents(("a", "", 0.49, 0))) == []


def test_of_the_operators_samples_only_the_nearest_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(votes, "NEIGHBOURS", 1)
    assert order(intents(("a", "", 0.9, 0), ("b", "", 0.8, 0))) == ["a"]


def test_samples_of_the_operator_do_not_age_and_choices_do() -> None:
    old = intents(("a", "", 0.9, 3_000), ("b", "x", 0.9, 500), ("b", "y", 0.9, 500))
    assert order(old) == ["a", "b"]
    fresh = intents(("a", "", 0.9, 3_000), ("b", "x", 0.9, 0), ("b", "y", 0.9, 0))
    assert order(fresh) == ["b", "a"]


def test_one_client_alone_changes_nothing_however_often_it_says_it() -> None:
    alone = [("a", "x", 0.99, 0.0)] * 10
    assert order(intents(("b", "", 0.6, 0), *alone)) == ["b"]
    assert order(intents(("b", "", 0.6, 0), *alone, ("a", "y", 0.99, 0))) == ["a", "b"]


def test_repeating_a_choice_adds_nothing_to_it() -> None:
    once = intents(("b", "", 0.95, 0), ("b", "", 0.95, 0), ("a", "x", 0.9, 0), ("a", "y", 0.9, 0))
    repeated = intents(("b", "", 0.95, 0), ("b", "", 0.95, 0), ("a", "y", 0.9, 0), *[("a", "x", 0.9, 0)] * 10)
    assert order(once) == order(repeated) == ["b", "a"]


def test_nothing_is_near_to_nothing() -> None:
    assert order(intents()) == []


@pytest.mark.parametrize(
    ("covered", "expected"), [("abcd", 1.0), ("ab", 0.0625), ("", 0.0), ("abcdxyz", 1.0)]
)
def test_votes_are_trusted_as_far_as_samples_cover_the_best(covered: str, expected: float) -> None:
    assert trust(list("abcd"), frozenset(covered)) == pytest.approx(expected)


def test_where_nothing_else_was_found_votes_are_all_there_is() -> None:
    assert trust([], frozenset("a")) == 1.0
