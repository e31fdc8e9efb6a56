"""Texts that nobody called right are not taught as wrong where a trained model holds them for right."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick_training.cross_encoder import WithoutLikelyAnswers
from kitpick_training.examples import RankingList


class Lists:
    def __init__(self, *lists: RankingList) -> None:
        self.lists = list(lists)

    def batch(self, step: int, size: int) -> list[RankingList]:
        return self.lists[:size]

    def validation(self) -> list[RankingList]:
        return self.lists


class ByNumber:
    """A judge whose logit of a text is the number it begins with."""

    def score_lists(self, lists):
        return [np.array([float(text.split()[0]) for text in item.texts], np.float32) for item in lists]


def listed(*texts: str) -> RankingList:
    """Each text is `LOGIT right`, `LOGIT wrong` or `LOGIT doubtful`."""
    kinds = [text.split()[1] for text in texts]
    right, doubtful = (tuple(kind == wanted for kind in kinds) for wanted in ("right", "doubtful"))
    return RankingList("request", texts, right, doubtful=doubtful)


def kept(margin: float, *texts: str) -> list[tuple[str, ...]]:
    source = Lists(listed(*texts))
    return [item.texts for item in WithoutLikelyAnswers(source, ByNumber(), margin).batch(0, 8)]


def test_a_doubtful_text_goes_when_it_is_nearly_as_likely_as_the_least_right_one():
    texts = ("3 right", "1 right", "0.5 doubtful", "0 doubtful", "-0.1 doubtful")
    assert kept(1.0, *texts) == [("3 right", "1 right", "-0.1 doubtful")]
    assert kept(0.0, *texts) == [texts]


def test_a_text_that_was_called_wrong_stays_however_likely_it_is():
    assert kept(1.0, "1 right", "5 wrong", "5 doubtful") == [("1 right", "5 wrong")]


def test_where_nothing_is_right_a_text_goes_that_is_as_likely_right_as_wrong():
    assert kept(0.0, "0 doubtful", "-0.5 doubtful", "2 wrong") == [("-0.5 doubtful", "2 wrong")]


def test_a_list_of_which_nothing_is_left_is_not_learnt_from():
    assert kept(0.0, "1 doubtful", "2 doubtful") == []


def test_labels_move_with_their_texts():
    source = Lists(listed("4 doubtful", "2 wrong", "1 right", "-3 doubtful"))
    (item,) = WithoutLikelyAnswers(source, ByNumber(), 1.0).batch(0, 1)
    assert item == listed("2 wrong", "1 right", "-3 doubtful")


def test_a_list_without_doubt_and_the_validation_stay_as_they_are():
    sure, unsure = listed("1 right", "4 wrong"), listed("1 right", "4 doubtful")
    source = WithoutLikelyAnswers(Lists(sure, unsure), ByNumber(), 1.0)
    assert source.batch(0, 2) == [sure, listed("1 right")]
    assert source.validation() == [sure, unsure]
