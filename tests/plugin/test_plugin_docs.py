"""Every request that docs/plugin.md shows is made, and what it tells of settings and reasons is complete."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from double import Double, forwarding
from real_service import Service
from searching import Search, report

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "plugin.md").read_text("utf-8")
REQUESTS = [
    each
    for each in re.findall(r"^```\n(PUT|POST|GET) (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    if not each[1].startswith("/tools/")  # a catalog: `test_own_query.py` has one
]
JAVA = ROOT / "plugin" / "src" / "main" / "java" / "org" / "kitpick" / "opensearch"


@pytest.mark.slow
@pytest.mark.needs("jdk", "serve", "onnxruntime", "weights")
def test_the_requests_work_and_answer_as_shown(search: Search, double: Double, service: Service) -> None:
    assert len(REQUESTS) == 5
    with double.behaving(forwarding(*service)):
        _, _, searched, stats, _ = [
            search.call(method, path, json.loads(body) if body else None) for method, path, body in REQUESTS
        ]
    assert len(searched["hits"]["hits"]) == 5
    assert stats["_nodes"]["failed"] == 0
    (shown,) = re.findall(r"^```answer\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    assert_alike(report(searched), json.loads("{" + shown + "}")["ext"]["kitpick"])


def assert_alike(real: Any, shown: Any) -> None:
    """Numbers differ from run to run; names, texts and kinds don't."""
    if isinstance(shown, dict):
        assert set(real) == set(shown)
        for key in set(shown) - {"id", "index"}:
            assert_alike(real[key], shown[key])
    elif isinstance(shown, list):
        assert_alike(real[0], shown[0])
    elif isinstance(shown, str):
        assert real == shown
    else:
        assert isinstance(real, (int, float))


def test_every_node_setting_is_explained() -> None:
    settings = re.findall(r'"(kitpick\.[a-z_.]+)"', (JAVA / "NodeSettings.java").read_text("utf-8"))
    assert len(settings) == 13
    for name in settings:
        assert f"`{name}`" in PAGE


@pytest.mark.parametrize("file", ["rescore/SkipReason.java", "guard/FailureReason.java"])
def test_every_reason_is_explained(file: str) -> None:
    reasons = re.findall(
        r"^  ([A-Z_]+)(?:\(\s*RestStatus|[,;])", (JAVA / file).read_text("utf-8"), re.MULTILINE
    )
    assert len(reasons) >= 10
    for reason in reasons:
        assert f"`{reason.lower()}`" in PAGE, reason


def test_every_option_is_explained() -> None:
    options = re.findall(r'values, "([a-z_]+)"', (JAVA / "rescore" / "Options.java").read_text("utf-8"))
    fields = re.findall(r'config, "([a-z_]+)"', (JAVA / "rescore" / "FieldNames.java").read_text("utf-8"))
    assert len(options) >= 8
    assert len(fields) >= 8
    for name in {*options, *fields, "profile", "max_fetched"}:
        assert f"`{name}`" in PAGE, name
