"""Texts that nobody called right are not taught as wrong where a trained model holds them for right."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick_training.cross_encoder import Remembered, WithCosine, WithoutLikelyAnswers
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


def test_a_teacher_of_two_adds_the_weighted_cosine_to_the_logit():
    vectors = {"request": (1.0, 0.0), "1 right": (0.6, 0.8), "2 wrong": (0.0, 1.0)}
    item = listed("1 right", "2 wrong")
    both = WithCosine(ByNumber(), lambda texts: np.array([vectors[each] for each in texts], np.float32), 10.0)
    (found,) = both.score_lists([item])
    (alone,) = ByNumber().score_lists([item])
    assert np.allclose(found - alone, [6.0, 0.0], atol=1e-5)


def test_what_was_judged_is_not_read_again_to_be_copied():
    class Counting(ByNumber):
        read = 0

        def score_lists(self, lists):
            assert lists, "a scorer need not be able to score nothing"
            self.read += sum(len(item.texts) for item in lists)
            return super().score_lists(lists)

    counting = Counting()
    scorer = Remembered(counting)
    source = WithoutLikelyAnswers(Lists(listed("1 right", "5 doubtful", "0 doubtful")), scorer, 1.0)
    [item] = source.batch(0, 8)
    certain = listed("4 right", "2 wrong")
    assert counting.read == 3
    assert [scores.tolist() for scores in scorer.score_lists([item, certain])] == [[1.0], [4.0, 2.0]]
    assert counting.read == 5, "two more, which nobody had to judge"
    assert len(scorer.score_lists([certain])) == 1
    assert counting.read == 5
