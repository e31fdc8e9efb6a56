"""The charts of a comparison."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from kitpick_evaluation.comparison import Comparison
from kitpick_evaluation.html.svg import Bar, Point, bars, lines, reliability_diagram, scatter
from kitpick_evaluation.observations import DEPTHS
from kitpick_evaluation.report import MEAN, Report

_MOST_SUBSETS = 14
"""Most subsets of a facet in a chart: a catalog can have hundreds of categories."""


def charts(comparison: Comparison) -> Iterator[str]:
    """The charts of a comparison, as figures."""
    report, figure = comparison.report, comparison.figure
    if report.timings:
        yield _figure(_against_time(report, figure), "Quality against latency: up and to the left is better.")
    if any(cost.tokens for cost in report.costs):
        hits = report.costs[0].hits
        text = f"Quality against the tokens of the first {hits} definitions: up and to the left is better."
        yield _figure(_against_tokens(report, figure), text)
    yield from _depths(comparison)
    if any(comparison.calibration.values()):
        yield _figure(
            _calibration(comparison), "Calibration of the scores: on the dashed line they say true."
        )
    for facet in ("subset", "kind", "seen", "relevant", "category"):
        if len({row.subset for row in report.rows if row.facet == facet}) > 1:
            yield _figure(_subsets(report, facet, figure), f"{figure} by {facet}.", wide=True)


def _against_time(report: Report, figure: str) -> str:
    place = {profile: index for index, profile in enumerate(report.profiles)}
    points = [
        Point(
            timing.median,
            report.overall(timing.profile).figures[figure],
            timing.profile,
            place[timing.profile],
        )
        for timing in report.timings
    ]
    return scatter("Quality against latency", points, "median ms of a search", figure, log_x=True)


def _against_tokens(report: Report, figure: str) -> str:
    place = {profile: index for index, profile in enumerate(report.profiles)}
    points = [
        Point(cost.tokens, report.overall(cost.profile).figures[figure], cost.profile, place[cost.profile])
        for cost in report.costs
        if cost.tokens
    ]
    return scatter("Quality against tokens", points, "tokens handed to the model", figure)


def _depths(comparison: Comparison) -> Iterator[str]:
    subsets = sorted({item.subset for found in comparison.depth_recall.values() for item in found})
    for subset in subsets:
        series = {
            profile: list(zip(DEPTHS, item.recall, strict=True))
            for profile, found in comparison.depth_recall.items()
            for item in found
            if item.subset == subset
        }
        title = f"Recall of the first m candidates, {subset} tools"
        drawn = lines(title, series, "m: candidates of the first stage", "recall@m", log_x=True)
        yield _figure(drawn, f"{title}: what no later stage can bring back.")


def _calibration(comparison: Comparison) -> str:
    series = {
        profile: [(item.probability, item.relevant) for item in bins]
        for profile, bins in comparison.calibration.items()
        if bins
    }
    return reliability_diagram("Calibration", series)


def _subsets(report: Report, facet: str, figure: str) -> str:
    sizes = {row.subset: row.queries for row in report.rows if row.facet == facet}
    ranked = sorted((name for name in sizes if name != MEAN), key=lambda name: -sizes[name])
    largest = set(ranked[:_MOST_SUBSETS]) | {MEAN}
    groups: dict[str, list[Bar]] = {}
    for subset in (name for name in sizes if name in largest):
        for index, profile in enumerate(report.profiles):
            row = report.row(subset, profile, facet)
            low, high = row.intervals[figure]
            groups.setdefault(subset, []).append(Bar(row.figures[figure], low, high, profile, index))
    return bars(f"{figure} by {facet}", groups, figure)


def _figure(drawing: str, caption: str, *, wide: bool = False) -> str:
    kind = ' class="wide"' if wide else ""
    return f"<figure{kind}><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"
