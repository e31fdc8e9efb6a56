"""What is no API, at the door of agents: found beside APIs, and given as what it is used by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
SKILL = "---\nname: pdf\ndescription: Fills in PDF forms\n---\nRun `fill.py`.\n"


def test_a_skill_is_found_by_its_category_and_given_with_its_text(settings: Settings, tmp_path: Path) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    (tmp_path / "skills" / "pdf").mkdir(parents=True)
    (tmp_path / "skills" / "pdf" / "SKILL.md").write_text(SKILL, encoding="utf-8")
    functions = [{"name": "fill_form", "description": "Fills in PDF forms", "parameters": {"type": "object"}}]
    (tmp_path / "api.json").write_text(json.dumps(functions), encoding="utf-8")
    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(f"skills:{tmp_path / 'skills'}")
        catalog.ingest(f"functions:{tmp_path / 'api.json'}")
        tools = CatalogTools(catalog, Proxy(catalog, McpConfig(), lambda _: None), None, calls=False)

        def ask(name: str, **arguments: Any) -> Any:
            answer = anyio.run(tools.answer, name, arguments, Caller("local"))
            assert not answer.is_error, answer
            return answer.structured_content["tools"]

        found = ask("search_tools", query="fill in a form", categories=["skill"])
        assert [tool["id"] for tool in found] == ["skills/pdf"]
        skill, function = ask("get_definition", ids=["skills/pdf", "api/api/fill_form"])
    assert (skill["kind"], skill["definition"]["skill_md"]) == ("skill", SKILL)
    assert "kind" not in function
    assert function["definition"]["name"].startswith("api_fill_form")
