"""Whether a system knows that it does not know."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.metrics import roc_auc_score

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import (
    abstention_quality,
    auc,
    cohort_requests,
    cohort_threshold,
    fit_to_requests,
    refused_at_most,
    threshold_for,
    with_threshold,
)
from kitpick_evaluation.answer import Answer
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Abstain, CrossEncode, Learned

LEVELS = st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.9]), min_size=1, max_size=20)


def sure(probability: float, abstained: bool = False) -> Answer:
    return Answer(ids=("a",), probabilities=(probability,), abstained=abstained)


def test_rates_count_each_kind_of_request() -> None:
    found = abstention_quality(
        "p", [sure(0.9), sure(0.1, True), sure(0.8), sure(0.7)], [sure(0.05, True), sure(0.3)]
    )
    assert (found.answerable, found.unanswerable) == (4, 2)
    assert found.false_alarms == 0.25
    assert found.caught == 0.5
    assert found.precision == 0.5
    assert found.auc == 7 / 8


def test_never_abstaining_is_never_wrong() -> None:
    assert abstention_quality("p", [sure(0.5)], [sure(0.5)]).precision == 1.0


def test_both_kinds_are_needed() -> None:
    with pytest.raises(ValueError, match="missing"):
        abstention_quality("p", [sure(0.5)], [])


@pytest.mark.parametrize(("most_false", "expected"), [(0.1, 0.0), (0.2, 0.1), (0.4, 0.3), (1.0, 0.9)])
def test_the_threshold_is_a_rank_among_the_answers_and_a_further_one(
    most_false: float, expected: float
) -> None:
    assert threshold_for([0.5, 0.1, 0.9, 0.3], most_false) == expected


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(0.01, 0.5))
def test_of_values_drawn_alike_at_most_the_share_is_below_the_threshold_of_the_others(
    values: list[float], most_false: float
) -> None:
    below = sum(
        value < threshold_for([*values[:place], *values[place + 1 :]], most_false)
        for place, value in enumerate(values)
    )
    assert below <= most_false * len(values) + 1e-9, "as often as each of them could have come last"


@given(st.integers(1, 500), st.floats(0.01, 0.5))
def test_more_than_the_bound_is_refused_once_in_twenty_draws(requests: int, most_false: float) -> None:
    """The oracle is a coin: at least k of n uniform values are below p as often as k tosses come up."""
    bound = refused_at_most(requests, most_false)
    place = math.floor(most_false * (requests + 1) + 1e-9)
    assert (bound == 0.0) == (place == 0)
    if place:
        assert bound > threshold_for([(row + 1) / (requests + 1) for row in range(requests)], most_false)
        assert binom.sf(place - 1, requests, bound) == pytest.approx(0.95)


def test_sixty_requests_may_refuse_twice_as_many_as_they_say() -> None:
    assert refused_at_most(60) == pytest.approx(0.101, abs=0.001)
    assert refused_at_most(1_000) == pytest.approx(0.062, abs=0.001)


def api(name: str, description: str, tool: str = "tool") -> ApiDocument:
    return ApiDocument(
        id=f"s/{tool}/{name}", source="s", category="", tool=tool, api=name, description=description
    )


def test_a_cohort_asks_first_sentences_and_no_descriptions_that_say_too_little() -> None:
    documents = [
        api("copy", "Copies an object within a bucket. Needs a right."),
        api("lines", "Counts the lines of a text\nand more"),
        api("short", "Does it."),
        api("long", "word " * 100),
    ]
    found = {request.api: request.text for request in cohort_requests(documents)}
    assert found.keys() == {"s/tool/copy", "s/tool/lines", "s/tool/long"}
    assert found["s/tool/copy"] == "Copies an object within a bucket."
    assert found["s/tool/lines"] == "Counts the lines of a text"
    assert len(found["s/tool/long"]) == 200


def test_a_cohort_is_the_same_in_whatever_order_documents_come() -> None:
    documents = [api(f"a{n}", f"Does the thing of number {n} for you.", f"t{n % 7}") for n in range(40)]
    drawn = cohort_requests(documents, 10)
    assert drawn == cohort_requests(documents[::-1], 10)
    assert len({request.api for request in drawn}) == 10
    assert all(request.tool == api("", "", request.api.split("/")[1]).tool_key for request in drawn)


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=30), st.floats(-3, 3))
def test_a_threshold_rises_with_the_margin_and_lies_among_the_cohort_without_one(
    cohort: list[float], margin: float
) -> None:
    level = cohort_threshold(cohort, 0.0)
    assert min(cohort) - 1e-9 <= level <= max(cohort) + 1e-9
    fitted = cohort_threshold(cohort, margin)
    assert fitted >= level if margin >= 0 else fitted <= level


def test_a_threshold_is_set_where_the_profile_decides() -> None:
    learned = with_threshold(load_profile("kitpick"), 0.4)
    assert [stage.threshold for stage in learned.stages if isinstance(stage, Learned)] == [0.4]
    assert [stage.threshold for stage in learned.stages if isinstance(stage, Abstain)] == [
        stage.threshold for stage in load_profile("kitpick").stages if isinstance(stage, Abstain)
    ], "the cross-encoder's own threshold is on another scale"
    alone = with_threshold(Profile("sure", (CrossEncode(), Abstain())), 0.4)
    assert [stage.threshold for stage in alone.stages if isinstance(stage, Abstain)] == [0.4]


def judged(answerable: float, probability: float = 0.5, abstained: bool = False) -> Answer:
    return Answer(ids=("a",), probabilities=(probability,), abstained=abstained, answerable=answerable)


def thresholds(profile: Profile) -> tuple[float | None, float | None]:
    (floor,) = (stage.threshold for stage in profile.stages if isinstance(stage, Abstain))
    (verdict,) = (stage.threshold for stage in profile.stages if isinstance(stage, Learned))
    return floor, verdict


def test_what_the_cross_encoder_rules_out_counts_among_the_refused() -> None:
    default = load_profile("kitpick")
    floor, _ = thresholds(default)
    sure = [judged(0.3 + place / 100) for place in range(38)]
    ruled_out = judged(0.9, 0.01, abstained=True)
    assert thresholds(fit_to_requests(default, [*sure, judged(0.2)], 0.1)) == (floor, 0.32)
    assert thresholds(fit_to_requests(default, [*sure, ruled_out], 0.1)) == (floor, 0.32), (
        "it is one of the four"
    )


def test_a_cross_encoder_that_rules_out_too_much_gets_a_lower_threshold() -> None:
    sure = [judged(0.3 + place / 100) for place in range(36)]
    out = [judged(0.9, probability, abstained=True) for probability in (0.001, 0.004, 0.01)]
    floor, verdict = thresholds(fit_to_requests(load_profile("kitpick"), [*sure, *out], 0.1))
    assert floor == 0.004, "one of 39 is below it, half of what may be refused"
    assert verdict == 0.32, "two others may be"


@given(LEVELS, LEVELS)
def test_the_area_agrees_with_another_library(positives: list[float], negatives: list[float]) -> None:
    truth = [1] * len(positives) + [0] * len(negatives)
    assert auc(positives, negatives) == pytest.approx(roc_auc_score(truth, positives + negatives), abs=1e-9)
