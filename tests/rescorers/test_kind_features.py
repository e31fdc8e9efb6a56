"""Features of a reranked list: how relevance spreads over tools, and whether others add anything."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Classify, CrossEncode
from kitpick_rescorers.stages.classify import KIND_FEATURES, kind_features

QUERY = np.array([1.0, 1.0], dtype=np.float32)
NAMES = ("mail/send", "mail/read", "maps/route")
ALIKE = {"mail/send": (1.0, 0.0), "mail/read": (1.0, 0.1), "maps/route": (1.0, 0.0)}
APART = {**ALIKE, "maps/route": (0.0, 1.0)}


def scored(bench, logits, vectors):
    candidates = [
        bench.candidate(name, lexical=rank, dense=rank, vector=vectors[name])
        for rank, name in enumerate(NAMES, start=1)
    ]
    state = bench.state(candidates, vector=QUERY)
    return bench.apply(state, CrossEncode(), scorer=bench.scorer(dict(zip(NAMES, logits, strict=True))))


def features(bench, logits, vectors):
    found = kind_features(scored(bench, logits, vectors), KIND_FEATURES)
    return dict(zip(KIND_FEATURES, found.tolist(), strict=True))


def test_all_weight_on_one_tool_leaves_no_entropy(bench):
    sure = features(bench, (9.0, 9.0, -9.0), APART)
    assert sure["top_tool_share_by_score"] == pytest.approx(1)
    assert sure["tool_entropy_by_score"] == pytest.approx(0, abs=1e-6)


def test_weight_shared_by_tools_has_the_entropy_of_their_number(bench):
    even = features(bench, (0.0, -40.0, 0.0), APART)
    assert even["tool_entropy_by_score"] == pytest.approx(np.log(2), abs=1e-6)
    assert even["top_tool_share_by_score"] == pytest.approx(0.5)


def test_another_tool_counts_as_far_as_it_offers_something_else(bench):
    assert features(bench, (2.0, 1.0, 2.0), ALIKE)["complement"] == pytest.approx(0, abs=1e-6)
    assert features(bench, (2.0, 1.0, 2.0), APART)["complement"] > 0.05


def test_a_tool_explains_a_query_alone_unless_another_one_is_needed(bench):
    assert features(bench, (2.0, 1.0, 0.0), ALIKE)["explained_alone"] == pytest.approx(1, abs=0.01)
    assert features(bench, (2.0, 1.0, 0.0), APART)["explained_alone"] < 0.8


def test_they_come_in_the_order_asked_for(bench):
    state = scored(bench, (2.0, 1.0, 0.0), APART)
    both = kind_features(state, ("complement", "top_tool_share"))
    assert np.array_equal(both[::-1], kind_features(state, ("top_tool_share", "complement")))


def test_without_scores_or_with_unknown_names_the_kind_stays_open(bench):
    with pytest.raises(StageUnavailable, match="no cross-encoder scores"):
        kind_features(bench.state([bench.candidate("mail/send")], vector=QUERY), KIND_FEATURES)
    with pytest.raises(StageUnavailable, match="unknown features: mood"):
        kind_features(scored(bench, (1.0, 1.0, 1.0), APART), ("mood",))


def test_the_classifier_is_given_what_it_names(bench):
    class Listening(bench.kind):
        features = ("top_tool_share_by_score",)

        def probability_multi(self, vector):
            return float(1 - vector[0])

    state = scored(bench, (9.0, 9.0, -9.0), APART)
    found = bench.apply(state, Classify(), kind=Listening(0.5)).kind
    assert (found.kind, found.confidence) == ("single", pytest.approx(1))


def test_equal_logits_are_no_problem(bench):
    assert np.isfinite(kind_features(scored(bench, (1.0, 1.0, 1.0), APART), KIND_FEATURES)).all()
