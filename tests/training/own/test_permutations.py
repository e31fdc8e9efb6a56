"""A permutation set that grows, and the lists that are made of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kitpick_evaluation.errors import InvalidDataset
from kitpick_training.own.distillation import Permutation, PermutationFile, taught_request
from kitpick_training.own.lists import GradedRequest

ANSWER = Permutation("weather in Rome", "m@host", ("b", "a", "c"))
TEXTS = {"a": "alpha", "b": "beta", "c": "gamma", "d": "delta"}


def test_what_is_added_is_read_by_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "orders.jsonl"
    assert PermutationFile(path).read() == []
    judged = Permutation("another", "m@host", ("a", "b"), frozenset("b"))
    for answer in (ANSWER, judged):
        PermutationFile(path).add(answer)
    assert PermutationFile(path).read() == [ANSWER, judged]


def test_a_line_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    file = PermutationFile(tmp_path / "orders.jsonl")
    file.add(ANSWER)
    whole = file.path.read_bytes()
    file.path.write_bytes(whole + whole[:20])
    assert file.read() == [ANSWER]
    file.add(ANSWER)
    assert file.read() == [ANSWER, ANSWER]


def test_a_line_that_is_something_else_is_refused(tmp_path: Path) -> None:
    file = PermutationFile(tmp_path / "orders.jsonl")
    file.add(ANSWER)
    file.path.write_bytes(file.path.read_bytes() + b'{"query": 1}\n')
    with pytest.raises(InvalidDataset, match=r"orders\.jsonl:2"):
        file.read()


def test_where_nobody_judged_the_teacher_s_first_is_right() -> None:
    request = taught_request(ANSWER, TEXTS)
    assert request == GradedRequest(
        "weather in Rome", ("beta", "alpha", "gamma"), (0.0, -1.0, -2.0), frozenset(["beta"])
    )


def test_a_judgement_beats_the_teacher_and_what_is_gone_is_left_out() -> None:
    judged = Permutation("q", "m", ("gone", "a", "c"), frozenset(["c", "gone"]))
    request = taught_request(judged, TEXTS)
    assert request is not None
    assert (request.texts, request.right) == (("alpha", "gamma"), frozenset(["gamma"]))
    assert taught_request(Permutation("q", "m", ("gone", "a")), TEXTS) is None


@pytest.mark.parametrize("size", [2, 3, 9])
def test_a_list_holds_the_best_and_keeps_every_grade_with_its_text(size: int) -> None:
    request = taught_request(ANSWER, TEXTS)
    assert request is not None
    graded = dict(zip(request.texts, request.grades, strict=True))
    for seed in range(20):
        drawn = request.drawn(size, random.Random(seed))
        assert len(set(drawn.texts)) == len(drawn.texts) == min(size, 3)
        assert dict(zip(drawn.texts, drawn.grades, strict=True)).items() <= graded.items()
        assert dict(zip(drawn.texts, drawn.relevant, strict=True))["beta"] is True
    assert request.candidates().texts == ("alpha", "beta", "gamma")
