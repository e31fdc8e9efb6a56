from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_rescorers.errors import ScoredInPart, StageUnavailable
from kitpick_rescorers.stages import CrossEncode


def test_the_scored_come_first_by_score_and_the_rest_keep_their_order(bench):
    state = bench.fused(["t/a", "t/b", "t/c", "t/d"])
    scorer = bench.scorer({"t/a": -1.0, "t/b": 2.0})
    after = bench.apply(state, CrossEncode(candidates=2), scorer=scorer)
    assert bench.ids(after) == ["t/b", "t/a", "t/c", "t/d"]
    assert [item.logit for item in after.ranked] == [2.0, -1.0, None, None]
    assert after.reasons == {"t/b": "logit 2.00, probability 0.88", "t/a": "logit -1.00, probability 0.27"}


def test_equal_scores_keep_the_first_stage_order(bench):
    state = bench.fused(["t/b", "t/a"])
    assert bench.ids(bench.apply(state, CrossEncode(), scorer=bench.scorer({"t/a": 1, "t/b": 1}))) == [
        "t/b",
        "t/a",
    ]


def test_cosines_move_the_order_and_no_probability(bench):
    vectors = {"t/a": [1.0, 0.0], "t/b": [0.6, 0.8]}
    candidates = [bench.candidate(id_, vector=vector) for id_, vector in vectors.items()]
    scorer = bench.scorer({"t/a": 0.0, "t/b": 2.0})
    state = bench.state(candidates, vector=[1.0, 0.0])
    plain, near = (bench.apply(state, CrossEncode(cosine=cosine), scorer=scorer) for cosine in (0.0, 10.0))
    assert (bench.ids(plain), bench.ids(near)) == (["t/b", "t/a"], ["t/a", "t/b"])
    assert near.reasons["t/a"] == "logit 0.00 +10.00 by its vector, probability 0.50"
    assert {item.id: item.probability for item in near.ranked} == {
        item.id: item.probability for item in plain.ranked
    }


def test_without_vectors_cosines_do_not_count(bench):
    state = bench.fused(["t/a", "t/b"])
    after = bench.apply(state, CrossEncode(cosine=10.0), scorer=bench.scorer({"t/a": 0.0, "t/b": 2.0}))
    assert bench.ids(after) == ["t/b", "t/a"]


def test_fetched_candidates_are_scored_beyond_the_bound_up_to_their_own(bench):
    late = [bench.candidate("t/x"), bench.candidate("t/y")]
    scorer = bench.scorer({"t/a": 0.0, "t/x": 1.0})
    after = bench.apply(
        bench.fused(["t/a", "t/b"], fetched=late), CrossEncode(candidates=1, fetched=1), scorer=scorer
    )
    assert bench.ids(after) == ["t/x", "t/a", "t/b", "t/y"]


def test_without_a_model_the_stage_is_unavailable(bench):
    with pytest.raises(StageUnavailable, match="no cross-encoder is loaded"):
        bench.apply(bench.fused(["t/a"]), CrossEncode())


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_refused(bench, bad):
    with pytest.raises(StageUnavailable, match="not finite"):
        bench.apply(bench.fused(["t/a", "t/b"]), CrossEncode(), scorer=bench.scorer({"t/a": 1.0, "t/b": bad}))


def test_a_model_that_raises_is_named_with_its_error(bench):
    with pytest.raises(StageUnavailable, match="cross-encoder failed: KeyError"):
        bench.apply(bench.fused(["t/a"]), CrossEncode(), scorer=bench.scorer({}))


@pytest.mark.parametrize(
    ("settings", "read"),
    [
        ({}, 4),
        ({"spare_below": 0.5, "least": 1}, 3),
        ({"spare_below": 0.9, "least": 1}, 1),
        ({"spare_below": 0.9, "least": 2}, 2),
        ({"spare_below": 0.9}, 4),  # at least ten
        ({"spare_below": 0.01, "least": 1}, 4),
    ],
)
def test_what_the_first_stage_holds_for_far_worse_is_not_read(bench, settings, read):
    names = ["t/a", "t/b", "t/c", "t/d"]
    state = bench.fused(names)
    scores = [1.0, 0.8, 0.5, 0.2]
    ranked = tuple(replace(item, score=score) for item, score in zip(state.ranked, scores, strict=True))
    after = bench.apply(
        replace(state, ranked=ranked), CrossEncode(**settings), scorer=bench.scorer(dict.fromkeys(names, 0.0))
    )
    assert sum(item.logit is not None for item in after.ranked) == read
    assert bench.ids(after) == names


class Stopped:
    """Logits of some texts; a deadline came before the others were read."""

    identity = "stopped@1"

    def __init__(self, logits):
        self.logits = logits

    def score(self, query, texts):
        part = ScoredInPart("not done within 20 ms")
        part.logits = np.array([self.logits.get(text, np.nan) for text in texts])
        raise part

    def probability(self, logits):
        return 1.0 / (1.0 + np.exp(-logits))


def test_what_was_read_before_the_deadline_counts_up_to_the_first_gap(bench):
    state = bench.fused(["t/a", "t/b", "t/c", "t/d"])
    after = bench.apply(state, CrossEncode(), scorer=Stopped({"t/a": -1.0, "t/b": 2.0, "t/d": 9.0}))
    assert bench.ids(after) == ["t/b", "t/a", "t/c", "t/d"]
    assert [item.logit for item in after.ranked] == [2.0, -1.0, None, None]
    (degraded,) = after.degraded
    assert (degraded.stage, degraded.reason) == (
        "cross_encode",
        "read the first 2 of 4 candidates: then the time was over",
    )


def test_without_the_first_one_nothing_counts(bench):
    state = bench.fused(["t/a", "t/b"])
    with pytest.raises(StageUnavailable, match="not done within 20 ms"):
        bench.apply(state, CrossEncode(), scorer=Stopped({"t/b": 9.0}))


REQUEST = "I plan a trip to Rome. Find me a room there. What will the weather be?"


class BySentence:
    """Logits by what is asked and text; whatever is not written down has -4."""

    identity = "by-sentence@1"

    def __init__(self, logits):
        self.logits, self.asked = logits, []

    def score(self, query, texts):
        self.asked.append((query, list(texts)))
        return np.array([self.logits.get((query, text), -4.0) for text in texts], np.float32)

    def probability(self, logits):
        return 1.0 / (1.0 + np.exp(-logits))


def asked_by_sentence(bench, request, **settings):
    scorer = BySentence(
        {
            (REQUEST, "hotels/rooms"): 2.0,
            ("Find me a room there.", "hotels/rooms"): 1.0,
            ("What will the weather be?", "weather/now"): 4.0,
        }
    )
    state = replace(bench.fused(["hotels/rooms", "maps/route", "weather/now"]), query=request)
    return bench.apply(state, CrossEncode(**settings), scorer=scorer), scorer


def test_the_best_sentence_of_a_text_has_its_share_in_the_score(bench):
    after, _ = asked_by_sentence(bench, REQUEST, sentence_share=0.75)
    assert {item.id: item.logit for item in after.ranked} == {
        "weather/now": 0.25 * -4 + 0.75 * 4,
        "hotels/rooms": 0.25 * 2 + 0.75 * 1,
        "maps/route": -4.0,
    }
    assert bench.ids(after) == ["weather/now", "hotels/rooms", "maps/route"]


def test_only_the_first_candidates_are_read_with_each_sentence(bench):
    after, scorer = asked_by_sentence(bench, REQUEST, sentence_share=0.75, sentence_candidates=2)
    assert [len(texts) for _, texts in scorer.asked] == [3, 2, 2, 2]
    assert bench.ids(after) == ["hotels/rooms", "maps/route", "weather/now"]


def test_a_request_of_one_sentence_is_read_once(bench):
    _, scorer = asked_by_sentence(bench, "What will the weather be?", sentence_share=0.5)
    assert len(scorer.asked) == 1


def test_without_a_share_sentences_are_not_read(bench):
    _, scorer = asked_by_sentence(bench, REQUEST)
    assert len(scorer.asked) == 1
