"""The panels for OpenSearch Dashboards ask for what `record.py` writes, on a node, also after a rollover.

Dashboards itself is not here: each search is filled in as Dashboards does it, and asked.
"""

from __future__ import annotations

import importlib.util
import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from double import Double, forwarding, reset
from real_service import Service
from searching import Search

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "plugin" / "dashboards"
PAGE = (ROOT / "docs" / "plugin.md").read_text("utf-8")


def module(name: str) -> ModuleType:
    """A file of the folder, which is no package."""
    spec = importlib.util.spec_from_file_location(f"dashboards_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


PANELS = module("panels")
RECORD = module("record")
FILLED = {
    '"%dashboard_context-must_clause%"': '{"match_all": {}}',
    '"%dashboard_context-filter_clause%"': '{"match_all": {}}',
    '"%dashboard_context-must_not_clause%"': '{"match_none": {}}',
    '{"%timefilter%": true}': '{"gte": "now-1d", "lte": "now+1d"}',
}


def objects() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PANELS.FILE.read_text("utf-8").splitlines()]


def searches() -> dict[str, dict[str, Any]]:
    """The search of each panel, as it stands in the file that is imported."""
    specs = {
        each["attributes"]["title"]: json.loads(json.loads(each["attributes"]["visState"])["params"]["spec"])
        for each in objects()
        if each["type"] == "visualization"
    }
    return {title: spec["data"]["url"]["body"] for title, spec in specs.items()}


def filled(body: dict[str, Any]) -> dict[str, Any]:
    """A search as Dashboards sends it."""
    text = json.dumps(body)
    for variable, value in FILLED.items():
        text = text.replace(variable, value)
    assert "%" not in text
    done: dict[str, Any] = json.loads(text)
    return done


def test_the_file_is_what_the_panels_say() -> None:
    assert PANELS.FILE.read_text("utf-8") == PANELS.content(), "run plugin/dashboards/panels.py"


def test_the_dashboard_shows_every_panel_once() -> None:
    *panels, board = objects()
    assert board["type"] == "dashboard"
    placed = json.loads(board["attributes"]["panelsJSON"])
    named = {each["name"]: each["id"] for each in board["references"]}
    assert [named[each["panelRefName"]] for each in placed] == [each["id"] for each in panels]
    assert len({(each["gridData"]["x"], each["gridData"]["y"]) for each in placed}) == len(panels)


def test_prometheus_text_becomes_documents() -> None:
    text = (
        '# TYPE kitpick_a_total counter\nkitpick_a_total{node="n\\"1\\\\",reason="busy"} 3\n'
        'kitpick_b_seconds_bucket{le="+Inf"} 7\nkitpick_in_flight 0\nother_total 1\n'
    )
    assert list(RECORD.samples(text)) == [
        {"metric": "kitpick_a_total", "node": 'n"1\\', "reason": "busy", "value": 3.0},
        {"metric": "kitpick_in_flight", "value": 0.0},
    ]


GROWN = {
    "Searches a minute",
    "Share that the rescorer ranked",
    "First-stage order a minute, by reason",
    "Nothing to rescore a minute, by reason",
    "Mean seconds of a stage",
    "Calls, repeated calls and fetches a minute",
}
"""Panels of how much something grew, where all of it did."""


def grown(points: list[Any], body: dict[str, Any]) -> list[float]:
    """By how much the metrics of a search grew in a minute."""
    metrics = body["query"]["bool"]["filter"][2]["terms"]["metric"]
    found = [point[f"{metric}_more"] for metric in metrics for point in points if f"{metric}_more" in point]
    return [each["normalized_value"] for each in found if each["value"] is not None]


def rolled_indexes(search: Search) -> list[str]:
    """The indexes of the data stream that hold something."""
    counted = search.call(
        "POST", "/kitpick-metrics/_search", {"size": 0, "aggs": {"of": {"terms": {"field": "_index"}}}}
    )
    return [bucket["key"] for bucket in counted["aggregations"]["of"]["buckets"]]


@pytest.mark.slow
@pytest.mark.needs("jdk", "serve", "onnxruntime", "weights")
class TestOnANode:
    def test_every_panel_has_lines_before_and_after_a_rollover(
        self, search: Search, double: Double, service: Service, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KITPICK_RESCORER_KEY", service.key)
        (template,) = re.findall(r"^PUT /_index_template/kitpick-metrics\n(.*?)^```$", PAGE, re.DOTALL | re.M)
        search.call("PUT", "/_index_template/kitpick-metrics", json.loads(template))
        self.used(search, double, service)
        now = datetime.now(timezone.utc)
        assert RECORD.record(search.url, service.url, at=now - timedelta(minutes=1)) > 50
        rolled = search.call("POST", "/kitpick-metrics/_rollover")
        assert rolled["rolled_over"] is True
        self.used(search, double, service)
        assert RECORD.record(search.url, service.url, at=now) > 50
        search.call("POST", "/kitpick-metrics/_refresh")
        assert len(searches()) == len(PANELS.PANELS)
        assert len(rolled_indexes(search)) == 2
        for title, body in searches().items():
            answer = search.call("POST", f"/{PANELS.INDEX}/_search", filled(body))
            lines = answer["aggregations"]["series"]["buckets"]
            assert lines, title
            points = [point for line in lines for point in line["time"]["buckets"]]
            for metric in body["query"]["bool"]["filter"][2]["terms"]["metric"]:
                assert any(point[metric]["value"]["value"] is not None for point in points), (title, metric)
            if title in GROWN:
                assert max(grown(points, body)) > 0, title

    def used(self, search: Search, double: Double, service: Service) -> None:
        """A search that is rescored, one that cannot be, and one with nothing to do."""
        with double.behaving(forwarding(*service)):
            search()
        with double.behaving(reset):
            search()
        search({"size": 0})

    def test_what_the_index_does_not_take_is_told(self, search: Search) -> None:
        search.put("/strict-metrics", {"mappings": {"dynamic": "strict"}})
        with pytest.raises(ValueError, match=r"strict-metrics: .*@timestamp"):
            RECORD.record(search.url, index="strict-metrics")
