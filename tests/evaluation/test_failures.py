"""Every miss has one cause, and it is the one that a team can act on."""

from __future__ import annotations

import pytest

from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.failures import Cause, Circumstances, FailureCollector, misses
from kitpick_rescorers.state import StageTrace

QUERY = JudgedQuery("1", "do it", frozenset({"a"}))
PLAIN = Circumstances(lambda api: True, frozenset(), lambda one, other: False)


def stage(name: str, order: str, scored: str = "", skipped: str = "") -> StageTrace:
    return StageTrace(
        name, 0.0, tuple(order), tuple(0.0 for _ in order), dict.fromkeys(scored, "x"), "", skipped
    )


def cause(*trace: StageTrace, circumstances: Circumstances = PLAIN, kind: str = "single") -> Cause:
    order = trace[-1].order if trace else ("x", "y")
    answer = Answer(ids=order[:2], trace=trace, kind="single")
    (miss,) = misses(QUERY, answer, 2, kind, circumstances)
    return miss.cause


def test_a_found_api_is_no_miss() -> None:
    assert misses(QUERY, Answer(ids=("x", "a")), 2, "single", PLAIN) == []


def test_what_was_never_proposed() -> None:
    assert cause(stage("fuse", "xyz")) is Cause.NOT_A_CANDIDATE
    assert cause() is Cause.NOT_A_CANDIDATE


def test_what_was_cut_before_it_was_looked_at() -> None:
    assert (
        cause(stage("fuse", "xyza"), stage("truncate", "xyz"), stage("cross_encode", "xyz", "xyz"))
        is Cause.TRUNCATED
    )
    assert cause(stage("fuse", "xyza"), stage("cross_encode", "xyza", "xyz")) is Cause.TRUNCATED


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cross_encode", Cause.CROSS_ENCODER),
        ("blend", Cause.CROSS_ENCODER),
        ("concentrate", Cause.HIERARCHY),
        ("diversify", Cause.HIERARCHY),
        ("decode", Cause.DECODING),
        ("pack", Cause.BUDGET),
        ("novel", Cause.OTHER_STAGE),
    ],
)
def test_the_stage_that_put_it_down_is_told(name: str, expected: Cause) -> None:
    assert cause(stage("fuse", "axyz"), stage(name, "xyza", "axyz")) is expected


def test_the_last_fall_counts() -> None:
    trace = [stage("fuse", "axyz"), stage("cross_encode", "xyza", "axyz"), stage("blend", "xayz")]
    assert cause(*trace, stage("concentrate", "xyza")) is Cause.HIERARCHY


def test_a_rule_for_the_other_kind_is_the_classifiers_fault() -> None:
    assert cause(stage("fuse", "axyz"), stage("concentrate", "xyza"), kind="multi") is Cause.WRONG_KIND


def test_what_no_stage_put_near_the_top() -> None:
    assert cause(stage("fuse", "xyza"), stage("cross_encode", "xyza", "xyza")) is Cause.NEVER_NEAR


def test_a_skipped_cross_encoder_truncates_nothing() -> None:
    assert cause(stage("fuse", "xyza"), stage("cross_encode", "xyza", skipped="no model")) is Cause.NEVER_NEAR


def test_circumstances_come_before_stages() -> None:
    hidden = Circumstances(lambda api: False, frozenset("a"), lambda one, other: True)
    assert cause(stage("fuse", "xyz"), circumstances=hidden) is Cause.PERMISSION
    old = Circumstances(lambda api: True, frozenset("a"), lambda one, other: True)
    assert cause(stage("fuse", "xyz"), circumstances=old) is Cause.DEPRECATED
    twin = Circumstances(lambda api: True, frozenset(), lambda one, other: other == "y")
    assert cause(stage("fuse", "xyz"), circumstances=twin) is Cause.NEAR_DUPLICATE


def test_misses_are_grouped_and_counted() -> None:
    collector = FailureCollector(2, lambda query: "single", PLAIN)
    for number in range(7):
        collector(
            "p",
            JudgedQuery(str(number), "x", frozenset("ab")),
            Answer(ids=("b", "x"), trace=(stage("fuse", "bx"),)),
        )
    collector("p", QUERY, Answer(ids=("x", "y"), trace=(stage("fuse", "xya"),)))
    (found,) = collector.failures()
    assert (found.misses, found.relevant) == (8, 15)
    assert [(group.cause, group.misses, group.requests) for group in found.groups] == [
        (Cause.NOT_A_CANDIDATE, 7, 7),
        (Cause.NEVER_NEAR, 1, 1),
    ]
    assert len(found.groups[0].examples) == 5
    assert sum(group.share for group in found.groups) == 1.0


def test_of_equally_right_apis_one_is_missed_the_nearest() -> None:
    either = JudgedQuery("1", "do it", frozenset("abc"), groups=(frozenset("ab"), frozenset("c")))
    answer = Answer(ids=("x", "y"), trace=(stage("fuse", "xyba"),))
    assert [(miss.api, miss.rank) for miss in misses(either, answer, 2, "single", PLAIN)] == [
        ("b", 3),
        ("c", None),
    ]
    found = misses(either, Answer(ids=("a", "x"), trace=(stage("fuse", "axb"),)), 2, "single", PLAIN)
    assert [miss.api for miss in found] == ["c"]
    collector = FailureCollector(2, lambda query: "single", PLAIN)
    collector("p", either, answer)
    assert collector.failures()[0].relevant == 2
