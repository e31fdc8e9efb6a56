"""`datasets/graded`: every list fits the operations it names, and the splits that training keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from kitpick_training.data.split import split_of_request
from kitpick_training.data.written import WrittenApi, read_apis
from kitpick_training.graded.lists import GradedList, read_graded
from kitpick_training.graded.requests import AskedRequest, read_asked

DATASETS = Path(__file__).resolve().parents[3] / "datasets"


@pytest.fixture(scope="module")
def apis() -> dict[int, WrittenApi]:
    return {each.id: each for each in read_apis(DATASETS / "written")}


@pytest.fixture(scope="module")
def lists() -> list[GradedList]:
    return read_graded(DATASETS / "graded" / "lists.jsonl.gz")


@pytest.fixture(scope="module")
def asked(apis: dict[int, WrittenApi]) -> dict[object, AskedRequest]:
    return {key(each): each for each in read_asked(DATASETS, apis)}


def key(of: AskedRequest | GradedList) -> object:
    """Not the id: requests may come to stand in other lines."""
    return of.request, of.style, of.relevant, str(of.context)


def test_a_list_grades_known_operations_once_and_among_them_what_is_labelled(lists, apis):
    for each in lists:
        assert len(set(each.candidates)) == len(each.candidates) >= 8
        assert set(each.candidates) <= apis.keys()
        assert {*each.relevant, *each.also} <= set(each.candidates)
        assert {*each.grades, *each.again} <= {0, 1, 2}


def test_a_list_is_of_a_request_of_the_project(lists, asked):
    assert [each.id for each in lists if key(each) not in asked] == []


def test_what_is_held_out_is_marked_and_nothing_is_of_the_split_test(lists, apis, asked):
    for each in lists:
        groups = {apis[number].operation.group for number in asked[key(each)].named}
        assert each.split == split_of_request(groups) != "test"


def test_nobody_who_trains_sees_an_operation_that_is_held_out(lists, apis):
    kept = [found for each in lists if (found := each.trainable(apis)) is not None]
    groups = {apis[number].operation.group for each in kept for number in each.candidates}
    assert split_of_request(groups) == "train"
    assert len(groups) >= 400
