"""The battery's figures against values computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

import pytest
from battery.figures import (
    SetResult,
    cost_ratio,
    difference,
    headline,
    own_words_recall,
    probabilities,
    profile_figures,
)
from battery.sets import BatteryRequest
from battery.systems import RequestOutcome

pytestmark = pytest.mark.needs("eval")


def request(number: int, *relevant: str, style: str = "") -> BatteryRequest:
    return BatteryRequest(f"r{number}", "text", frozenset(relevant), style=style)


def outcome(
    asked: BatteryRequest,
    ids: str,
    *,
    sure: Sequence[float | None] = (),
    first_stage: str = "",
    refused: tuple[bool, bool | None] = (False, None),
) -> RequestOutcome:
    """`ids` names one API a letter, best first."""
    return RequestOutcome(
        asked,
        tuple(ids),
        tuple(sure) or (None,) * len(ids),
        tuple(first_stage or ids),
        *refused,
    )


def result(name: str, *, hierarchy: bool = False, **profiles: Sequence[RequestOutcome]) -> SetResult:
    facets = {o.request.id: {"shared": "none"} for outcomes in profiles.values() for o in outcomes}
    return SetResult(name, 10, hierarchy, profiles, facets)


def test_ranking_figures_are_means_in_percent() -> None:
    found = profile_figures(
        [
            outcome(request(1, "b"), "abcde", first_stage="ab"),  # second: NDCG 1 / log2(3)
            outcome(request(2, "a", "z"), "abcde", first_stage="xyz"),  # one of two, and that one first
        ]
    )
    ideal = 1 + 1 / log2(3)
    assert found.ranking["recall@5"].mean == pytest.approx(100 * (1 + 0.5) / 2)
    assert found.ranking["ndcg@5"].mean == pytest.approx(100 * (1 / log2(3) + 1 / ideal) / 2, abs=1e-3)
    assert found.ranking["comp@5"].mean == pytest.approx(50)
    assert found.ranking["recall@50"].mean == pytest.approx(100 * (1 + 0.5) / 2)
    assert found.ranking["first"].mean == pytest.approx(50), "the first answer begins with a wrong one"


def test_an_interval_holds_its_mean_and_is_a_point_where_all_are_alike() -> None:
    same = profile_figures([outcome(request(n, "a"), "ab") for n in range(6)]).ranking["recall@5"]
    assert (same.low, same.mean, same.high) == pytest.approx((100, 100, 100))
    mixed = profile_figures([outcome(request(n, "a"), "ab" if n % 2 else "bc") for n in range(20)])
    assert 0 < mixed.ranking["recall@5"].low < 50 < mixed.ranking["recall@5"].high < 100


def test_an_answer_without_hits_counts_as_nothing_found() -> None:
    found = profile_figures([outcome(request(1, "a"), ""), outcome(request(2, "a"), "a")])
    assert found.ranking["recall@5"].mean == pytest.approx(50)


def test_refusals_are_shares_of_answerable_and_of_unanswerable_requests() -> None:
    refusals = [(True, True), (False, True), (False, False), (False, True)]
    found = profile_figures([outcome(request(n, "a"), "a", refused=r) for n, r in enumerate(refusals)])
    assert (found.false_alarms, found.caught) == (0.25, 0.75)
    cannot = profile_figures([outcome(request(1, "a"), "a")])
    assert (cannot.false_alarms, cannot.caught) == (None, None)


def test_probabilities_are_of_the_first_hits_that_were_scored() -> None:
    asked = request(1, "b")
    answers = [outcome(asked, "abc", sure=(0.9, None, 0.2)), outcome(asked, "ba", sure=(0.7, 0.1))]
    assert probabilities(answers, 1) == [(0.9, False), (0.7, True)]
    assert probabilities(answers, 5) == [(0.9, False), (0.2, False), (0.7, True), (0.1, False)]


ASKED = [request(n, "a") for n in range(4)]
FIRST = [outcome(r, "ab") for r in ASKED]  # NDCG 100
SECOND = [outcome(r, "ba") for r in ASKED]  # NDCG 63.09
MISSED = [outcome(r, "bc") for r in ASKED]  # NDCG 0
HALF = 100 / log2(3)


def test_a_profile_is_compared_with_the_best_of_the_others_set_by_set() -> None:
    sets = [
        result("s", one=SECOND, two=FIRST, three=MISSED),
        result("t", one=FIRST, two=SECOND, three=MISSED),
    ]
    found = difference(sets, "one", ("two", "three"))
    assert found is not None
    assert found.by_set == pytest.approx({"s": HALF - 100, "t": 100 - HALF}, abs=0.01)
    assert found.mean == pytest.approx(0, abs=0.01)
    assert found.worst == "s"


def test_a_profile_that_was_not_asked_the_first_requests_is_judged_on_the_last_ones() -> None:
    fitted = [outcome(each, "ab") for each in ASKED[1:]]
    others = [outcome(ASKED[0], "ab"), *(outcome(each, "ba") for each in ASKED[1:])]
    found = difference([result("s", one=fitted, two=others)], "one", ("two",))
    assert found is not None
    assert found.by_set == pytest.approx({"s": 100 - HALF}, abs=0.01)


def test_no_set_no_difference() -> None:
    assert difference([], "one", ("two",)) is None


def test_the_headline_names_what_decides() -> None:
    sure = [outcome(r, "ab", sure=(1.0, 0.0), refused=(n == 0, n < 2)) for n, r in enumerate(ASKED)]
    sets = [
        result("flat", dense=SECOND, hybrid=MISSED, rerank=SECOND, toolrerank=MISSED, kitpick=sure),
        result(
            "deep",
            hierarchy=True,
            dense=FIRST,
            hybrid=MISSED,
            rerank=MISSED,
            toolrerank=SECOND,
            kitpick=[outcome(r, "ab", sure=(0.5, 0.0), refused=(False, True)) for r in ASKED],
            adapted=[outcome(r, "ab", refused=(True, True)) for r in ASKED],
        ),
    ]
    found = headline(sets, "kitpick", variants={"adapted": "_adapted"})
    assert found["default_minus_best"] == pytest.approx((100 - HALF) / 2, abs=0.01)
    assert (found["worst_set"], found["worst_set_name"]) == (pytest.approx(0, abs=0.01), "deep")
    assert found["rerank_minus_hybrid_mean"] == pytest.approx(HALF / 2, abs=0.01)
    assert (found["rerank_minus_hybrid_worst"], found["rerank_minus_hybrid_worst_name"]) == (0, "deep")
    assert found["toolrerank_minus_rerank"] == pytest.approx(HALF, abs=0.01), "only where there is hierarchy"
    assert (found["refused_worst"], found["refused_worst_name"]) == (0.25, "flat")
    assert found["caught_mean"] == pytest.approx((0.5 + 1.0) / 2)
    assert (found["refused_worst_adapted"], found["caught_mean_adapted"]) == (1.0, 1.0)
    assert found["default_adapted_minus_best"] == pytest.approx(0, abs=0.01), "of the set where it was asked"
    assert found["gain_adapted"] == pytest.approx(0, abs=0.01)
    assert found["sure_ece"] == pytest.approx((0 + 0.25) / 2), "of five: half of the hits said 0.5 and right"
    assert found["own_words_recall5"] is None


def test_natural_composed_and_synthetic_sets_are_told_apart() -> None:
    sets = [
        result("music", dense=SECOND, hybrid=MISSED, kitpick=FIRST),
        result("written", dense=FIRST, hybrid=MISSED, kitpick=SECOND),
        result("written-joined", dense=MISSED, hybrid=SECOND, kitpick=FIRST),
        result("sealtools", dense=MISSED, hybrid=FIRST, kitpick=MISSED),
    ]
    found = headline(sets, "kitpick")
    assert found["natural_minus_best"] == pytest.approx(0, abs=0.01)
    assert found["natural_worst"] == pytest.approx(HALF - 100, abs=0.01)
    assert found["natural_worst_name"] == "written"
    assert found["composed_minus_best"] == pytest.approx(100 - HALF, abs=0.01)
    assert found["synthetic_minus_best"] == pytest.approx(-100, abs=0.01)
    assert (found["first_minus_best"], found["first_worst"]) == (0, -100)


def test_the_first_hit_counts_where_the_discounted_gain_does_not_tell() -> None:
    asked = [request(n, "a", "z") for n in range(2)]
    ours = [outcome(r, "ab") for r in asked]  # right at the first place
    theirs = [outcome(r, "bazcd") for r in asked]  # both right ones, behind a wrong one
    found = headline([result("music", dense=theirs, hybrid=theirs, kitpick=ours)], "kitpick")
    assert found["first_minus_best"] == 100
    assert isinstance(found["natural_minus_best"], float)
    assert found["natural_minus_best"] < 0


def test_costs_are_compared_set_by_set_where_both_were_timed() -> None:
    def timed(name: str, **taken: float) -> SetResult:
        return SetResult(name, 10, False, {}, {}, taken)

    sets = [
        timed("a", kitpick=10.0, before=20.0),
        timed("b", kitpick=8.0, before=10.0),
        timed("c", kitpick=1.0),
    ]
    assert cost_ratio(sets, "kitpick") == pytest.approx((0.5 + 0.8) / 2)
    assert cost_ratio([timed("c", kitpick=1.0)], "kitpick") is None


def test_what_was_not_asked_is_none() -> None:
    found = headline([result("s", dense=FIRST)], "kitpick")
    assert {found["default_minus_best"], found["caught_mean"], found["sure_ece"]} == {None}


def test_own_words_are_indirect_or_colloquial_requests_without_a_shared_key_word() -> None:
    asked = [request(n, "a", style=style) for n, style in enumerate("DFAD")]
    answers = [outcome(r, ids) for r, ids in zip(asked, ("ab", "bc", "bc", "bc"), strict=True)]
    shared = {"r0": "none", "r1": "none", "r2": "none", "r3": "some"}
    facets = {id_: {"shared": value} for id_, value in shared.items()}
    found = SetResult("written", 10, False, {"dense": answers}, facets)
    assert own_words_recall([found], "dense") == pytest.approx(50)


def test_subsets_hold_the_requests_that_belong_to_them() -> None:
    facets = {"r0": {"shared": "none"}, "r1": {"shared": "some"}, "r2": {"shared": "some"}, "r3": {}}
    answers = [outcome(r, "ab" if r.id == "r1" else "bc") for r in ASKED]
    found = SetResult("s", 10, False, {"dense": answers}, facets).subsets("dense")["shared"]
    assert {name: figures.requests for name, figures in found.items()} == {"none": 1, "some": 2}
    assert found["some"].ranking["recall@5"].mean == pytest.approx(50)
