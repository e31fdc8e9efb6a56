"""An evaluation asks every ranker, and sums up per subset."""

from __future__ import annotations

import pytest

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.evaluate import MEAN, evaluate

pytestmark = pytest.mark.needs("eval")

QUERIES = (
    JudgedQuery("1", "weather", frozenset({"w"}), "single"),
    JudgedQuery("2", "news", frozenset({"n"}), "single"),
    JudgedQuery("3", "weather and news", frozenset({"w", "n"}), "multi"),
)


def always_weather(request: str, k: int) -> list[str]:
    return ["w", "x", "y"][:k]


def test_figures_are_means_over_the_queries_of_a_subset() -> None:
    report = evaluate("d", QUERIES, {"p": always_weather})
    assert report.queries == 3
    assert report.row("single", "p").figures["recall@5"] == 0.5
    assert report.row("single", "p").queries == 2
    assert report.row("multi", "p").figures["recall@5"] == 0.5
    assert report.row("multi", "p").figures["comp@5"] == 0.0


def test_the_mean_counts_each_subset_once() -> None:
    def knows_singles(request: str, k: int) -> list[str]:
        return {"weather": ["w"], "news": ["n"]}.get(request, ["x"])

    report = evaluate("d", QUERIES, {"p": knows_singles})
    assert report.row(MEAN, "p").figures["recall@5"] == 0.5


def test_one_subset_has_no_mean() -> None:
    report = evaluate("d", QUERIES[:2], {"p": always_weather})
    assert [row.subset for row in report.rows] == ["single"]
    with pytest.raises(KeyError):
        report.row(MEAN, "p")


def test_all_rankers_answer_a_request_before_the_next_is_asked() -> None:
    asked: list[tuple[str, str]] = []

    def recording(name: str):
        return lambda request, k: asked.append((name, request)) or ["w"]

    evaluate("d", QUERIES[:2], {"a": recording("a"), "b": recording("b")})
    assert asked == [("a", "weather"), ("b", "weather"), ("a", "news"), ("b", "news")]
