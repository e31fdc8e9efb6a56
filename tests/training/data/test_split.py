from __future__ import annotations

import itertools
from collections import Counter

import msgspec
import pytest

from kitpick_evaluation.datasets.records import LabelledRequest
from kitpick_evaluation.datasets.split import split_of
from kitpick_training.data.split import EmptySplit, take_split


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
