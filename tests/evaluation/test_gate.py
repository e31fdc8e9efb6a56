"""A gate says exactly what was not met, and refuses what it cannot judge."""

from __future__ import annotations

import msgspec
import pytest

from kitpick_evaluation.errors import InvalidGate, OtherBaseline
from kitpick_evaluation.gate import Drop, Floor, failures, parse_drop, parse_floor
from kitpick_evaluation.report import MEAN, Provenance, Report, ReportRow


def report(recall: float, digest: str = "d", dataset: str = "shop", profile: str = "p") -> Report:
    return Report(
        complete=True,
        dataset=dataset,
        queries=4,
        provenance=Provenance(digest=digest, requests=4, cutoffs=(5,), seed=0, resamples=1),
        rows=(
            ReportRow("single", profile, 2, {"recall@5": recall + 0.1}),
            ReportRow("multi", profile, 2, {"recall@5": recall - 0.1}),
            ReportRow(MEAN, profile, 4, {"recall@5": recall}),
        ),
    )


def test_conditions_are_read_as_they_are_written() -> None:
    assert parse_floor("recall@5>=0.80") == Floor("recall@5", 0.8)
    assert parse_floor("multi/comp@5>=.4") == Floor("comp@5", 0.4, "multi")
    assert parse_drop("ndcg@5:0.01") == Drop("ndcg@5", 0.01)
    assert parse_floor("CI/CD: tests/mrr>=0.5") == Floor("mrr", 0.5, "CI/CD: tests"), (
        "a category of the user's"
    )
    assert parse_drop("CI/CD: tests/mrr:0.5") == Drop("mrr", 0.5, "CI/CD: tests")


@pytest.mark.parametrize(
    "text", ["", "recall@5", "recall@5>0.8", "recall@5>=x", "recall@5>=80", "r>=nan", "r>=-1"]
)
def test_what_is_no_floor_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidGate, match=r"recall@5>=0\.80"):
        parse_floor(text)


def test_a_report_passes_or_says_why_not() -> None:
    assert failures(report(0.8), [Floor("recall@5", 0.8)]) == []
    assert failures(report(0.7999999999999999), [Floor("recall@5", 0.8)]) == [], "a mean is rounded"
    (reason,) = failures(report(0.79), [Floor("recall@5", 0.8)])
    assert reason == "p: recall@5 (mean, 4 requests) is 0.7900, below 0.8"
    (reason,) = failures(report(0.8), [Floor("recall@5", 0.8, "multi")])
    assert "multi" in reason


def test_a_loss_is_measured_against_the_baseline() -> None:
    drops = [Drop("recall@5", 0.01)]
    assert failures(report(0.79), [], drops, report(0.80)) == []
    assert failures(report(0.90), [], drops, report(0.80)) == []
    (reason,) = failures(report(0.78), [], drops, report(0.80))
    assert "0.0200 below the baseline's 0.8000" in reason


@pytest.mark.parametrize(
    ("baseline", "reason"),
    [
        (report(0.8, dataset="other"), "dataset 'other'"),
        (report(0.8, digest="e"), "other requests or judgements"),
        (report(0.8, profile="q"), "no profile 'p'"),
    ],
)
def test_a_baseline_of_something_else_is_refused(baseline: Report, reason: str) -> None:
    with pytest.raises(OtherBaseline, match=reason):
        failures(report(0.8), [], [Drop("recall@5", 0.01)], baseline)


def test_unknown_figures_subsets_and_a_missing_baseline_are_refused() -> None:
    with pytest.raises(InvalidGate, match="there are recall@5"):
        failures(report(0.8), [Floor("recal@5", 0.1)])
    with pytest.raises(InvalidGate, match="there are single, multi"):
        failures(report(0.8), [Floor("recall@5", 0.1, "triple")])
    with pytest.raises(InvalidGate, match="--baseline"):
        failures(report(0.8), [], [Drop("recall@5", 0.1)])


def test_every_profile_has_to_pass() -> None:
    both = report(0.8)
    both = msgspec.structs.replace(both, rows=(*both.rows, *report(0.2, profile="q").rows))
    assert len(failures(both, [Floor("recall@5", 0.5)])) == 1
