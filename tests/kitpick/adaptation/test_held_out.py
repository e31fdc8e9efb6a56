"""What a threshold refuses of requests that took part in nothing, and how sure that is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from kitpick.adaptation.held_out import HeldOutRequests, held_out_requests
from kitpick_evaluation.abstention import (
    confident_threshold,
    decided_alone,
    fit_with_confidence,
    judge_of,
    least_requests,
    most_refused,
)
from kitpick_evaluation.answer import Answer
from kitpick_models.runtime import load_list_ranker
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Abstain, Learned

SHARES = st.floats(0.01, 0.5)


@given(st.integers(1, 400), SHARES)
def test_the_threshold_is_the_largest_rank_that_holds_with_confidence(requests: int, most: float) -> None:
    values = [float(rank) for rank in range(1, requests + 1)]
    place = int(confident_threshold(values, most))
    assert place == 0 or binom.cdf(place - 1, requests, most) <= 0.05 + 1e-9
    assert place == requests or binom.cdf(place, requests, most) > 0.05 - 1e-9


@given(SHARES)
def test_the_fewest_requests_that_tell_anything(most: float) -> None:
    least = least_requests(most)
    assert confident_threshold([1.0] * least, most) == 1.0
    assert confident_threshold([1.0] * (least - 1), most) == 0.0


@given(st.integers(1, 400), st.floats(0, 1))
def test_the_bound_is_that_of_clopper_and_pearson(requests: int, share: float) -> None:
    refused = math.floor(share * requests)
    expected = 1.0 if refused == requests else beta.ppf(0.95, refused + 1, requests - refused)
    assert most_refused(refused, requests) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("requests", [59, 93, 222])
def test_more_than_the_share_is_refused_once_in_twenty_draws_at_most(requests: int) -> None:
    """Uniform values: the share below a threshold is the threshold."""
    rng = np.random.default_rng(5)
    drawn = [confident_threshold(rng.random(requests).tolist(), 0.05) for _ in range(1_000)]
    assert all(threshold > 0 for threshold in drawn)
    assert np.mean(np.array(drawn) > 0.05) <= 0.07, "5 %, and what a thousand draws may be off"


def test_the_list_ranker_decides_alone_where_a_share_is_to_hold() -> None:
    answers = [Answer(ids=("a",), answerable=0.2 + rank / 1000, abstained=rank == 7) for rank in range(93)]
    fitted = fit_with_confidence(load_profile("kitpick"), answers, 0.05)
    judge = judge_of(fitted)
    assert judge is not None
    assert judge.threshold == 0.2, "the second smallest, as one is refused by something else"
    assert judge.overrules


def test_what_stands_behind_the_list_ranker_refuses_nothing_either() -> None:
    stages = decided_alone(Profile("p", (Abstain(), Learned(), Abstain(threshold=0.3))), 0.1).stages
    assert stages == (Abstain(), Learned(threshold=0.1, overrules=True), Abstain(threshold=0.0))
    assert decided_alone(Profile("p", (Abstain(),)), 0.1).stages == (Abstain(threshold=0.1),)


def held_out() -> HeldOutRequests:
    return HeldOutRequests("r", "four requests", 10, (0.05, 0.3, 0.5, 0.9), (1.0, 1.0, 0.01, 1.0), 0.02)


def test_what_is_refused_of_held_out_requests() -> None:
    profile = Profile("both", (Abstain(threshold=0.02), Learned()))
    assert held_out().refused(profile, 0.1) == 2, "one by the list ranker, one by the cross-encoder"
    assert held_out().refused(decided_alone(profile, 0.1), 0.1) == 1
    assert held_out().refused(load_profile("kitpick"), 0.1) == 1, "the list ranker overrules the other one"
    bold = tuple(Abstain(threshold=0.5) if isinstance(s, Abstain) else s for s in profile.stages)
    unknown = HeldOutRequests("r", "", 1, (), (), 0.02).refused(Profile("bold", bold), 0.1)
    assert unknown is None
    assert "1 of 4 refused, at most 75.1 %" in held_out().told(1)


@pytest.mark.needs("weights", "onnxruntime")
def test_the_shipped_list_ranker_has_held_out_requests() -> None:
    ranker = load_list_ranker()
    small = held_out_requests(ranker.identity, 1)
    large = held_out_requests(ranker.identity, 100_000)
    assert small is not None
    assert large is not None
    assert small.apis <= large.apis
    assert len(small.answerable) == len(small.best) >= least_requests(0.05)
    assert held_out_requests("another", 100) is None
    assert any(isinstance(stage, Learned) for stage in load_profile("kitpick").stages)
