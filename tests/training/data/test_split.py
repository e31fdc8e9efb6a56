from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest

from kitpick_training.data.records import LabelledRequest
from kitpick_training.data.split import EmptySplit, split_of, split_of_request, take_split


def test_no_group_and_no_text_is_in_two_splits(catalog):
    splits = [take_split(catalog, split, 0.3) for split in ("train", "validation", "test")]
    groups = [{catalog.groups[i] for i in split.documents} for split in splits]
    for first, second in itertools.combinations(groups, 2):
        assert not first & second
    assert {i for split in splits for i in split.documents} == catalog.documents.keys()


def test_documents_of_another_split_are_dropped_from_a_request(catalog):
    ids = tuple(sorted(catalog.documents))
    asked = tuple(LabelledRequest("x", (i,), offered=ids, also=ids) for i in ids)
    train = take_split(msgspec.structs.replace(catalog, requests=asked), "train", 0.3)
    assert {i for r in train.requests for i in r.offered} == train.documents.keys()
    assert {i for r in train.requests for i in r.also} == train.documents.keys()


def test_a_request_across_splits_is_in_neither(catalog):
    ids = tuple(catalog.documents)
    catalog = msgspec.structs.replace(catalog, requests=(LabelledRequest("everything", ids),))
    with pytest.raises(EmptySplit, match="nothing in the train split"):
        take_split(catalog, "train", 0.4)


def test_the_split_depends_on_the_name_alone():
    assert split_of("GitHub.com", 0.5) == split_of("github.com", 0.5)
    found = Counter(split_of(f"provider {i}", 0.1) for i in range(5000))
    assert 0.08 < found["validation"] / 5000 < 0.12
    assert 0.08 < found["test"] / 5000 < 0.12


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
