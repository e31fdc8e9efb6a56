"""Writes `opensearch-dashboards.ndjson`: saved objects of OpenSearch Dashboards over what `record.py` writes.

Each panel is a Vega-Lite specification with one search in it, so that a test can ask a node the very same.
Run it after a change here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).with_name("opensearch-dashboards.ndjson")
INDEX = "kitpick-metrics*"
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_MOST_SERIES = 100
_POINTS = 60
_WIDE, _HIGH, _ACROSS = 16, 12, 3
"""Size of a panel in a dashboard's grid, which is 48 wide, and how many stand beside each other."""


class Panel(NamedTuple):
    """Lines over time, one for each pair of labels.

    `shown` is an expression of Vega over `now(METRIC)`, the latest value, and `more(METRIC)`, by how much it
    grew in a minute.
    """

    title: str
    labels: tuple[str, str]
    """Labels of the metrics: together they tell series apart, the second names the line."""
    metrics: tuple[str, ...]
    shown: str
    unit: str = "~s"
    """How numbers are written, as d3 has it."""
    joined: str = "sum"
    """How series with the same name on their line are joined."""


_NODE = ("metric", "node")
PANELS = (
    Panel("Searches a minute", _NODE, ("kitpick_node_searches_total",), "more(kitpick_node_searches_total)"),
    Panel(
        "Share that the rescorer ranked",
        ("node", "node"),
        ("kitpick_node_rescored_total", "kitpick_node_searches_total"),
        "more(kitpick_node_searches_total) > 0 ? "
        "more(kitpick_node_rescored_total) / more(kitpick_node_searches_total) : null",
        ".0%",
        "mean",
    ),
    Panel(
        "First-stage order a minute, by reason",
        ("node", "reason"),
        ("kitpick_node_original_total",),
        "more(kitpick_node_original_total)",
    ),
    Panel(
        "Nothing to rescore a minute, by reason",
        ("node", "reason"),
        ("kitpick_node_skipped_total",),
        "more(kitpick_node_skipped_total)",
    ),
    Panel(
        "Seconds that the plugin held searches up",
        ("node", "quantile"),
        ("kitpick_node_took_seconds",),
        "now(kitpick_node_took_seconds)",
        joined="max",
    ),
    Panel(
        "Seconds of it in the rescorer",
        ("node", "quantile"),
        ("kitpick_node_service_seconds",),
        "now(kitpick_node_service_seconds)",
        joined="max",
    ),
    Panel(
        "Mean seconds of a stage",
        ("rescorer", "stage"),
        ("kitpick_stage_seconds_sum", "kitpick_stage_seconds_count"),
        "more(kitpick_stage_seconds_count) > 0 ? "
        "more(kitpick_stage_seconds_sum) / more(kitpick_stage_seconds_count) : null",
        joined="mean",
    ),
    Panel(
        "Circuit: open (1) or closed (0)",
        _NODE,
        ("kitpick_node_breaker_open",),
        "now(kitpick_node_breaker_open)",
        joined="max",
    ),
    Panel(
        "Calls, repeated calls and fetches a minute",
        ("node", "metric"),
        ("kitpick_node_calls_total", "kitpick_node_retries_total", "kitpick_node_fetches_total"),
        "more(kitpick_node_calls_total) + more(kitpick_node_retries_total)"
        " + more(kitpick_node_fetches_total)",
    ),
)


def search(panel: Panel) -> dict[str, Any]:
    """The search of a panel. Dashboards puts its time and filters where a percent sign stands."""
    per_metric: dict[str, Any] = {}
    for metric in panel.metrics:
        per_metric[metric] = {
            "filter": {"term": {"metric": metric}},
            "aggs": {"value": {"max": {"field": "value"}}},
        }
        per_metric[f"{metric}_more"] = {"derivative": {"buckets_path": f"{metric}>value", "unit": "1m"}}
    times = {"field": "@timestamp", "buckets": _POINTS, "minimum_interval": "minute"}
    over_time = {"auto_date_histogram": times, "aggs": per_metric}
    terms = [{"field": each} for each in panel.labels]
    series = {"multi_terms": {"terms": terms, "size": _MOST_SERIES}}
    return {
        "size": 0,
        "query": {
            "bool": {
                "must": ["%dashboard_context-must_clause%"],
                "filter": [
                    "%dashboard_context-filter_clause%",
                    {"range": {"@timestamp": {"%timefilter%": True}}},
                    {"terms": {"metric": list(panel.metrics)}},
                ],
                "must_not": ["%dashboard_context-must_not_clause%"],
            }
        },
        "aggs": {"series": {**series, "aggs": {"time": over_time}}},
    }


def specification(panel: Panel) -> dict[str, Any]:
    """A panel in Vega-Lite."""
    shown = panel.shown
    for metric in sorted(panel.metrics, key=len, reverse=True):
        shown = shown.replace(f"now({metric})", f"datum.at.{metric}.value.value")
        grown = f"datum.at.{metric}_more"
        shown = shown.replace(f"more({metric})", f"({grown} ? max(0, {grown}.normalized_value) : null)")
    return {
        "$schema": SCHEMA,
        "data": {
            "url": {"index": INDEX, "body": search(panel)},
            "format": {"property": "aggregations.series.buckets"},
        },
        "transform": [
            {"calculate": "datum.key[1]", "as": "name"},
            {"calculate": "datum.time.buckets", "as": "times"},
            {"flatten": ["times"], "as": ["at"]},
            {"calculate": "toDate(datum.at.key)", "as": "when"},
            {"calculate": shown, "as": "shown"},
            {"filter": "isValid(datum.shown)"},
        ],
        "mark": {"type": "line", "point": True},
        "encoding": {
            "x": {"field": "when", "type": "temporal", "axis": {"title": None}},
            "y": {
                "aggregate": panel.joined,
                "field": "shown",
                "type": "quantitative",
                "axis": {"title": None, "format": panel.unit},
            },
            "color": {"field": "name", "type": "nominal", "legend": {"title": None}},
        },
    }


def saved_objects() -> Iterator[dict[str, Any]]:
    """The panels, and the dashboard that shows them."""
    ids = [f"kitpick-{number}" for number, _ in enumerate(PANELS, 1)]
    for id_, panel in zip(ids, PANELS, strict=True):
        state = {"title": panel.title, "type": "vega", "aggs": []}
        drawn = {"params": {"spec": json.dumps(specification(panel), indent=2)}}
        yield _object(
            "visualization", id_, panel.title, {"visState": json.dumps(state | drawn), "uiStateJSON": "{}"}
        )
    placed = [_placed(number, id_) for number, id_ in enumerate(ids)]
    shown = {"hidePanelTitles": False, "useMargins": True}
    board = {
        "panelsJSON": json.dumps(placed),
        "optionsJSON": json.dumps(shown),
        "timeRestore": True,
        "timeFrom": "now-6h",
        "timeTo": "now",
        "refreshInterval": {"pause": False, "value": 30_000},
    }
    references = [{"name": f"panel_{id_}", "type": "visualization", "id": id_} for id_ in ids]
    yield _object("dashboard", "kitpick", "kitpick", board, references)


def _placed(number: int, id_: str) -> dict[str, Any]:
    row, column = divmod(number, _ACROSS)
    grid = {"x": column * _WIDE, "y": row * _HIGH, "w": _WIDE, "h": _HIGH, "i": id_}
    return {"gridData": grid, "panelIndex": id_, "embeddableConfig": {}, "panelRefName": f"panel_{id_}"}


def _object(
    kind: str, id_: str, title: str, attributes: dict[str, Any], references: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    searched = json.dumps({"query": {"query": "", "language": "kuery"}, "filter": []})
    common = {"title": title, "description": "", "version": 1}
    source = {"kibanaSavedObjectMeta": {"searchSourceJSON": searched}}
    return {
        "type": kind,
        "id": id_,
        "attributes": common | attributes | source,
        "references": list(references),
        "migrationVersion": {kind: "7.9.3" if kind == "dashboard" else "7.10.0"},
    }


def content() -> str:
    """The file, one object a line."""
    return "".join(json.dumps(each) + "\n" for each in saved_objects())


if __name__ == "__main__":
    FILE.write_text(content(), "utf-8")
