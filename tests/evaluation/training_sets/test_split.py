from __future__ import annotations

import msgspec
import pytest

from toolrank_evaluation.training_sets.errors import EmptySplit
from toolrank_evaluation.training_sets.records import LabelledRequest
from toolrank_evaluation.training_sets.split import split_of, take_split


def test_no_group_and_no_text_is_in_both_splits(catalog):
    train, validation = (take_split(catalog, split, 0.4) for split in ("train", "validation"))
    assert not {catalog.groups[i] for i in train.documents} & {
        catalog.groups[i] for i in validation.documents
    }
    assert train.documents.keys() | validation.documents.keys() == catalog.documents.keys()


def test_offered_documents_of_the_other_split_are_dropped(catalog):
    ids = sorted(catalog.documents)
    catalog = msgspec.structs.replace(
        catalog, requests=tuple(LabelledRequest("x", (i,), offered=tuple(ids)) for i in ids)
    )
    train = take_split(catalog, "train", 0.4)
    assert {i for r in train.requests for i in r.offered} == train.documents.keys()


def test_a_request_across_splits_is_in_neither(catalog):
    ids = tuple(catalog.documents)
    catalog = msgspec.structs.replace(catalog, requests=(LabelledRequest("everything", ids),))
    with pytest.raises(EmptySplit, match="nothing in the train split"):
        take_split(catalog, "train", 0.4)


def test_the_split_depends_on_the_name_alone():
    assert split_of("GitHub.com", 0.5) == split_of("github.com", 0.5)
    share = sum(split_of(f"provider {i}", 0.1) == "validation" for i in range(5000)) / 5000
    assert 0.08 < share < 0.12
