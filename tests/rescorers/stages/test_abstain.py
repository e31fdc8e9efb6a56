from __future__ import annotations

import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Abstain, CrossEncode, Fuse


def test_abstains_when_even_the_best_is_unlikely_and_keeps_the_list(bench):
    scorer = bench.scorer({"a/1": -4.0, "b/1": -3.0})
    after = bench.apply(bench.fused(["a/1", "b/1"]), CrossEncode(), Abstain(threshold=0.1), scorer=scorer)
    assert after.abstained == "the best probability 0.05 is below 0.10"
    assert bench.ids(after) == ["b/1", "a/1"]


def test_one_likely_candidate_is_enough_wherever_it_stands(bench):
    scorer = bench.scorer({"a/1": -4.0, "b/1": 2.0})
    after = bench.apply(bench.fused(["a/1", "b/1"]), CrossEncode(), Abstain(threshold=0.5), scorer=scorer)
    assert after.abstained == ""


def test_the_models_threshold_counts_unless_the_profile_has_one(bench):
    scorer = bench.scorer({"a/1": 0.0}, thresholds={"abstain": 0.6})
    scored = bench.apply(bench.fused(["a/1"]), CrossEncode(), scorer=scorer)
    assert bench.apply(scored, Abstain(), scorer=scorer).abstained
    assert not bench.apply(scored, Abstain(threshold=0.4), scorer=scorer).abstained


def test_without_any_candidate_there_is_nothing_to_offer():
    answer = rescore(RescoreRequest("q", []), Profile("p", (Fuse(), CrossEncode(), Abstain())), Models())
    assert (answer.abstained, answer.abstained_because) == (True, "no candidate was found")
    assert answer.degraded == ()


def test_without_scores_it_cannot_tell(bench):
    with pytest.raises(StageUnavailable, match="no calibrated scores"):
        bench.apply(bench.fused(["a/1"]), Abstain())
