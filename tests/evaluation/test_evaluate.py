"""An evaluation asks every ranker, and sums up per subset."""

from __future__ import annotations

import math

import pytest

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidCutoff, InvalidRanking
from kitpick_evaluation.evaluate import Evaluation, Sampling, evaluate
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.report import MEAN, ReportRow

pytestmark = pytest.mark.needs("eval")

QUERIES = (
    JudgedQuery("1", "weather", frozenset({"w"}), "first"),
    JudgedQuery("2", "news", frozenset({"n"}), "first"),
    JudgedQuery("3", "weather and news", frozenset({"w", "n"}), "second"),
)
FACETS = Facets(
    [
        ApiDocument(id="w", source="s", category="nature", tool="sky", api="w"),
        ApiDocument(id="n", source="s", category="media", tool="press", api="n"),
    ],
    is_seen=lambda tool: tool == "nature/sky",
)
FEW = Sampling(resamples=50)


def always_weather(request: JudgedQuery, k: int) -> Answer:
    return Answer(ids=("w", "x", "y")[:k], tokens=len(request.text))


def row(found: Evaluation, subset: str, facet: str = "subset") -> ReportRow:
    (only,) = [row for row in found.rows if (row.facet, row.subset) == (facet, subset)]
    return only


def test_figures_are_means_over_the_queries_of_a_subset() -> None:
    found = evaluate(QUERIES, {"p": always_weather}, FACETS, sampling=FEW)
    assert row(found, "first").figures["recall@5"] == 0.5
    assert row(found, "first").queries == 2
    assert row(found, "second").figures["recall@5"] == 0.5
    assert row(found, "second").figures["comp@5"] == 0.0


def test_the_mean_counts_each_subset_once() -> None:
    def knows_singles(request: JudgedQuery, k: int) -> Answer:
        return Answer(ids={"weather": ("w",), "news": ("n",)}.get(request.text, ("x",)))

    found = evaluate(QUERIES, {"p": knows_singles}, FACETS, sampling=FEW)
    assert row(found, MEAN).figures["recall@5"] == 0.5


def test_one_subset_has_no_mean() -> None:
    found = evaluate(QUERIES[:2], {"p": always_weather}, FACETS, sampling=FEW)
    assert [row.subset for row in found.rows if row.facet == "subset"] == ["first"]


def test_requests_are_divided_by_what_they_ask_for() -> None:
    found = evaluate(QUERIES, {"p": always_weather}, FACETS, sampling=FEW)
    sizes = {(row.facet, row.subset): row.queries for row in found.rows if row.facet != "subset"}
    assert sizes == {
        ("kind", "single"): 2,
        ("kind", "multi"): 1,
        ("seen", "seen"): 1,
        ("seen", "unseen"): 1,
        ("seen", "mixed"): 1,
        ("relevant", "1"): 2,
        ("relevant", "2"): 1,
        ("category", "nature"): 2,
        ("category", "media"): 2,
    }


def test_intervals_hold_the_figure_and_shrink_to_it_where_all_requests_agree() -> None:
    found = row(evaluate(QUERIES, {"p": always_weather}, FACETS, sampling=FEW), "first")
    low, high = found.intervals["recall@5"]
    assert low <= found.figures["recall@5"] <= high
    assert found.intervals["precision@10"][0] < found.intervals["precision@10"][1]
    assert row(evaluate(QUERIES[:1], {"p": always_weather}, FACETS, sampling=FEW), "first").intervals[
        "mrr"
    ] == (1.0, 1.0)


def test_tokens_are_averaged_and_every_answer_is_shown() -> None:
    shown: list[tuple[str, str]] = []
    found = evaluate(
        QUERIES[:2],
        {"p": always_weather},
        FACETS,
        sampling=FEW,
        observe=lambda profile, query, answer: shown.append((profile, query.id)),
    )
    assert found.tokens == {"p": (len("weather") + len("news")) / 2}
    assert shown == [("p", "1"), ("p", "2")]


def test_all_rankers_answer_a_request_before_the_next_is_asked() -> None:
    asked: list[tuple[str, str]] = []

    def recording(name: str):
        return lambda request, k: asked.append((name, request.text)) or Answer(ids=("w",))

    evaluate(QUERIES[:2], {"a": recording("a"), "b": recording("b")}, FACETS, sampling=FEW)
    assert asked == [("a", "weather"), ("b", "weather"), ("a", "news"), ("b", "news")]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(ids=("w", "w")), "twice"),
        (Answer(ids=("w",), scores=(math.nan,)), "not finite"),
        (Answer(ids=("w",), probabilities=(math.inf,)), "not finite"),
        (Answer(ids=("w",), scores=(1.0, 2.0)), "2 scores for 1 hits"),
    ],
)
def test_an_answer_that_cannot_be_judged_is_refused(answer: Answer, reason: str) -> None:
    with pytest.raises(InvalidRanking, match=reason):
        evaluate(QUERIES[:1], {"p": lambda request, k: answer}, FACETS, sampling=FEW)


@pytest.mark.parametrize("cutoffs", [(), (0,), (3, 3), (-1, 5)])
def test_cutoffs_are_different_and_positive(cutoffs: tuple[int, ...]) -> None:
    with pytest.raises(InvalidCutoff):
        evaluate(QUERIES[:1], {"p": always_weather}, FACETS, sampling=Sampling(cutoffs=cutoffs))
