"""Splits by group: stable, disjoint, and of the size that was asked for."""

from __future__ import annotations

from collections import Counter

import pytest

from kitpick_evaluation.datasets.split import split_of, split_of_request

# The leading 64 bits of each digest by `printf NAME | b2sum -l 64`, as a share of 2^64.
PLACES = {"stripe.com": 0.0635, "provider 7": 0.1231, "github.com": 0.2705, "google drive": 0.7492}


@pytest.mark.parametrize(
    ("group", "split"),
    [
        ("stripe.com", "test"),
        ("provider 7", "validation"),
        ("github.com", "train"),
        ("google drive", "train"),
    ],
)
def test_the_split_is_the_place_of_the_digest(group: str, split: str) -> None:
    assert split_of(group, 0.1) == split
    place = PLACES[group]
    if place < 0.49:  # a share of a half and more would leave nothing to learn from
        assert split_of(group, place + 0.0005) == "test"
        assert split_of(group, place - 0.0005) == "validation"


def test_a_tenth_is_the_test_split_and_another_tenth_validation() -> None:
    counts = Counter(split_of(f"provider {number}") for number in range(20_000))
    assert counts["test"] / 20_000 == pytest.approx(0.1, abs=0.01)
    assert counts["validation"] / 20_000 == pytest.approx(0.1, abs=0.01)


def test_case_does_not_matter() -> None:
    assert all(split_of(f"Provider {n}") == split_of(f"PROVIDER {n}") for n in range(100))


_SPLITS = ("train", "validation", "test")


def test_a_request_is_of_the_most_guarded_split_of_what_it_needs() -> None:
    of = {split: next(g for g in map(str, range(1_000)) if split_of(g) == split) for split in _SPLITS}
    assert split_of_request([of["train"]]) == "train"
    assert split_of_request([of["train"], of["validation"]]) == "validation"
    assert split_of_request([of["validation"], of["test"], of["train"]]) == "test"
