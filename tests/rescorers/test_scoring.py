from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.errors import InvalidScores, ScoredInPart
from kitpick_rescorers.scoring import ScoreCache, score_pairs


def test_known_pairs_are_not_asked_again(bench):
    scorer, cache = bench.scorer({"a": 1.0, "b": 2.0, "c": 3.0}), ScoreCache()
    score_pairs(scorer, cache, "q", ["a", "b"])
    logits, known = score_pairs(scorer, cache, "q", ["c", "a", "b"])
    assert logits.tolist() == [3.0, 1.0, 2.0]
    assert (known, scorer.asked) == (2, [["a", "b"], ["c"]])


def test_equal_texts_are_scored_once(bench):
    scorer = bench.scorer({"a": 1.0})
    logits, known = score_pairs(scorer, None, "q", ["a", "a", "a"])
    assert (logits.tolist(), known, scorer.asked) == ([1.0] * 3, 0, [["a"]])


def test_query_text_and_model_are_all_part_of_the_key(bench):
    cache = ScoreCache()
    score_pairs(bench.scorer({"b": 1.0}), cache, "qa", ["b"])
    other = bench.scorer({"b": 5.0, "ab": 7.0})
    assert score_pairs(other, cache, "q", ["ab"])[0].tolist() == [7.0]
    other.identity = "table@2"
    assert score_pairs(other, cache, "qa", ["b"])[0].tolist() == [5.0]


def test_the_least_recently_used_is_forgotten_first(bench):
    scorer, cache = bench.scorer({"a": 1.0, "b": 2.0, "c": 3.0}), ScoreCache(capacity=2)
    for text in ("a", "b", "a", "c"):
        score_pairs(scorer, cache, "q", [text])
    assert len(cache) == 2
    score_pairs(scorer, cache, "q", ["a", "c"])
    assert scorer.asked == [["a"], ["b"], ["c"]]


def test_a_wrong_number_of_scores_is_refused(bench):
    scorer = bench.scorer({})
    scorer.score = lambda query, texts: np.zeros(len(texts) + 1)
    with pytest.raises(InvalidScores, match=r"shape \(3,\) for 2 texts"):
        score_pairs(scorer, None, "q", ["a", "b"])


def test_what_was_scored_before_a_deadline_is_kept(bench):
    scorer, cache = bench.scorer({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}), ScoreCache()
    score_pairs(scorer, cache, "q", ["d"])
    whole = scorer.score

    def stopped(query, texts):
        part = ScoredInPart("the time is over")
        part.logits = np.where(np.array(texts) == "b", np.nan, whole(query, texts))
        raise part

    scorer.score = stopped
    with pytest.raises(ScoredInPart) as part:
        score_pairs(scorer, cache, "q", ["a", "b", "c", "d", "a", " "])
    assert np.array_equal(part.value.logits, [1.0, np.nan, 3.0, 4.0, 1.0, -12.0], equal_nan=True)
    scorer.score = whole
    scorer.asked.clear()
    assert score_pairs(scorer, cache, "q", ["a", "b", "c"])[0].tolist() == [1.0, 2.0, 3.0]
    assert scorer.asked == [["b"]]


def test_refused_scores_are_not_remembered(bench):
    cache = ScoreCache()
    with pytest.raises(InvalidScores):
        score_pairs(bench.scorer({"a": float("nan")}), cache, "q", ["a"])
    assert len(cache) == 0


def test_texts_without_a_utf8_form_have_keys_too(bench):
    assert score_pairs(bench.scorer({"\ud800": 1.0}), ScoreCache(), "\udfff", ["\ud800"])[0].tolist() == [1.0]
