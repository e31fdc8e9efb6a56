from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Place
from kitpick_rescorers.errors import ScoredInPart, StageUnavailable
from kitpick_rescorers.stages import CrossEncode, cross_encode


def test_the_scored_come_first_by_score_and_the_rest_keep_their_order(bench):
    state = bench.fused(["t/a", "t/b", "t/c", "t/d"])
    scorer = bench.scorer({"t/a": -1.0, "t/b": 2.0})
    after = bench.apply(state, CrossEncode(candidates=2), scorer=scorer)
    assert bench.ids(after) == ["t/b", "t/a", "t/c", "t/d"]
    assert [item.logit for item in after.ranked] == [2.0, -1.0, None, None]
    assert after.reasons == {"t/b": "logit 2.00, probability 0.88", "t/a": "logit -1.00, probability 0.27"}


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("refund the last payment", ["t/a", "t/b", "t/d"]),
        ("refund. please!", ["t/a", "t/b", "t/d"]),  # neither is a sentence of three words
        ("refund the last payment. Then tell the customer.", ["t/a", "t/b", "t/c", "t/d"]),
    ],
)
def test_of_one_sentence_it_reads_what_is_near_the_best(bench, query, read):
    fused = replace(bench.fused(["t/a", "t/b", "t/c", "t/d", "t/e"]), query=query)
    near = zip(fused.ranked, (0.9, 0.75, 0.6, 0.85, 0.9), strict=True)
    state = replace(fused, ranked=tuple(replace(item, score=score) for item, score in near))
    scorer = bench.scorer(dict.fromkeys(("t/a", "t/b", "t/c", "t/d", "t/e"), 0.0))
    stage = CrossEncode(candidates=4, within=0.2, least=1)
    assert [item.id for item in bench.apply(state, stage, scorer=scorer).scored] == read


def test_where_sample_requests_voted_all_are_read(bench):
    fused = bench.fused(["t/a", "t/b", "t/c"])
    voted = [replace(item.candidate, intent=Place(item.first_rank, 1.0)) for item in fused.ranked]
    scorer = bench.scorer({"t/a": 0.0, "t/b": 0.0, "t/c": 0.0})
    assert len(bench.apply(bench.state(voted), CrossEncode(within=0.0, least=1), scorer=scorer).scored) == 3


def test_the_least_are_read_however_far_they_are(bench):
    fused = bench.fused(["t/a", "t/b", "t/c"])
    state = replace(fused, ranked=tuple(replace(item, score=1.0 / item.first_rank) for item in fused.ranked))
    scorer = bench.scorer({"t/a": 0.0, "t/b": 0.0, "t/c": 0.0})
    after = bench.apply(state, CrossEncode(within=0.0, least=2), scorer=scorer)
    assert [item.id for item in after.scored] == ["t/a", "t/b"]


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


def test_fetched_candidates_are_scored_beyond_the_bound_up_to_their_own(bench, monkeypatch):
    monkeypatch.setattr(cross_encode, "FETCHED", 1)
    late = [bench.candidate("t/x"), bench.candidate("t/y")]
    scorer = bench.scorer({"t/a": 0.0, "t/x": 1.0})
    after = bench.apply(bench.fused(["t/a", "t/b"], fetched=late), CrossEncode(candidates=1), scorer=scorer)
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
