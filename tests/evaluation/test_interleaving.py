"""Team-draft interleaving is fair, and its test may be looked at after every answer."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from kitpick_evaluation.interleaving import Score, team_draft

pytestmark = pytest.mark.needs("eval")
rankings = st.lists(st.integers(0, 30), unique=True, max_size=20)


@given(rankings, rankings, st.integers(0, 12), st.integers())
def test_an_answer_holds_each_item_once_and_draws_from_both_alike(
    baseline: list[int], candidate: list[int], most: int, seed: int
) -> None:
    drafted = team_draft(baseline, candidate, most, random.Random(seed))
    items = [each.item for each in drafted]
    assert len(set(items)) == len(items) == min(most, len({*baseline, *candidate}))
    for team, ranking in (("baseline", baseline), ("candidate", candidate)):
        drawn = [each.item for each in drafted if each.team == team]
        assert drawn == [item for item in ranking if item in drawn], "each keeps its own order"
    if min(len(baseline), len(candidate)) >= 2 * most:
        counts = Counter(each.team for each in drafted)
        assert abs(counts["baseline"] - counts["candidate"]) <= 1


def test_equal_rankings_win_equally_often_whatever_users_choose() -> None:
    draws = random.Random(1)
    teams = Counter(team_draft("abcde", "abcde", 5, draws)[0].team for _ in range(2_000))
    assert abs(teams["candidate"] - 1_000) < 100, "a user who always takes the first decides nothing"


def test_evidence_is_the_ratio_of_the_mixture_to_the_binomial() -> None:
    score = Score(baseline=12, candidate=30, tied=9)
    # Under a uniform prior every count of 42 is equally likely: 1 / 43.
    assert score.evidence() == pytest.approx((1 / 43) / binom.pmf(30, 42, 0.5))
    assert score.evidence(0.7) == pytest.approx((1 / 43) / binom.pmf(30, 42, 0.7))


def test_the_interval_holds_the_share_and_is_wider_than_one_that_is_looked_at_once() -> None:
    score = Score(baseline=40, candidate=60)
    low, high = score.interval(0.05)
    once = beta.ppf([0.025, 0.975], 60.5, 40.5)
    assert low < once[0] < 0.6 < once[1] < high


def test_equal_profiles_are_told_apart_in_at_most_alpha_of_trials_though_every_answer_is_looked_at() -> None:
    draws = random.Random(7)
    wrong = sum(_ends(0.5, 400, draws) is not None for _ in range(300))
    assert wrong <= 300 * 0.1


@pytest.mark.parametrize(("probability", "winner"), [(0.7, "candidate"), (0.25, "baseline")])
def test_a_better_profile_is_found(probability: float, winner: str) -> None:
    draws = random.Random(3)
    assert [_ends(probability, 400, draws) for _ in range(10)] == [winner] * 10


def test_without_a_decided_answer_nothing_is_said() -> None:
    score = Score(tied=50)
    assert (score.share, score.winner(0.05), score.evidence()) == (None, None, pytest.approx(1.0))
    assert score.interval(0.05) == (0.0, 1.0)


def test_a_very_long_trial_stays_finite() -> None:
    score = Score(baseline=1_000_000, candidate=2_000_000)
    assert score.winner(0.001) == "candidate"
    low, high = score.interval(0.001)
    assert 0.66 < low <= 2 / 3 <= high < 0.67


def test_a_very_long_trial_that_one_profile_always_wins_has_its_interval_there() -> None:
    assert Score(baseline=400_000).interval(0.05) == (0.0, 1 / 2000)
    assert Score(candidate=400_000).interval(0.05) == (1 - 1 / 2000, 1.0)


def _ends(probability: float, answers: int, draws: random.Random) -> str | None:
    """The result of a trial that is looked at after every answer."""
    baseline = candidate = 0
    for _ in range(answers):
        to_candidate = draws.random() < probability
        candidate, baseline = candidate + to_candidate, baseline + (not to_candidate)
        if (winner := Score(baseline, candidate).winner(0.05)) is not None:
            return winner
    return None
