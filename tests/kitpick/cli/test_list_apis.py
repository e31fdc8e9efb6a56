"""`kitpick list`: ids, tools, categories and effects, of what the caller may see."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def listed(kitpick: Any, *options: str) -> list[dict[str, Any]]:
    ran = kitpick("list", "--json", *options)
    assert ran.code == ExitCode.OK, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)
    return found


def test_every_api_is_listed_by_its_id(catalog: Catalog, kitpick: Any) -> None:
    documents = {each.id: each for each in catalog.documents()}
    rows = listed(kitpick)
    assert [row["id"] for row in rows] == sorted(documents)
    for row in rows:
        document = documents[row["id"]]
        assert (row["tool"], row["effect"]) == (document.tool_key, document.effect.value)
    assert listed(kitpick, "--limit", "2") == rows[:2]
    assert listed(kitpick, "--tool", rows[0]["tool"]) == rows
    assert listed(kitpick, "--effect", "destructive") == [r for r in rows if r["effect"] == "destructive"]
    table = kitpick("list")
    assert f"{len(rows)} APIs" in table.err
    assert rows[0]["effect"] in table.out


@pytest.mark.usefixtures("catalog")
def test_a_tool_that_is_not_there_is_refused_with_the_nearest(kitpick: Any) -> None:
    refused = kitpick("list", "--tool", "functions/function")
    assert refused.code == ExitCode.INPUT
    assert "did you mean" in refused.err
