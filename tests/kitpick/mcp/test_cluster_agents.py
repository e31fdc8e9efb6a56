"""What `kitpick setup --with opensearch-agents` tells a cluster fits what `kitpick mcp --http` serves.

ml-commons is not on Maven Central. Its connector calls `url` with `parameters.endpoint` behind it, with
`headers` in which it puts `credential`, where an expression of the trusted endpoints fits the whole of `url`.
An agent has the tools whose names fit a filter.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from doors import NOTES, Door, over_http, serving

from kitpick.catalog import Catalog
from kitpick.cli.setup import template_steps, template_values
from kitpick.settings import Settings
from kitpick_ingest.opening import open_source
from kitpick_service.keys import digest

pytestmark = [pytest.mark.needs("weights", "onnxruntime", "mcp"), pytest.mark.slow]
pytestmark += [pytest.mark.usefixtures("no_cross_encoder")]
CALLERS = "".join(
    f'[[callers]]\nname = "{name}"\nsha256 = "{digest(name)}"\nprincipals = {principals}\nmay_call = true\n'
    for name, principals in (("agents-of-staff", '["staff"]'), ("agents-of-guests", "[]"))
)


def bodies(server: str, key: str) -> list[dict[str, Any]]:
    """The requests of a setup, filled in for a server and a key."""
    values = template_values("tools", server, key, "m@1")
    return [step.filled(values).body for step in template_steps("opensearch-agents")]


@pytest.fixture
def config(settings: Settings, functions_file: Path, tmp_path: Path) -> Path:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
    file = tmp_path / "mcp.toml"
    file.write_text(NOTES + CALLERS)
    return file


def test_agents_find_and_call_what_the_key_of_their_connector_may_see(config: Path) -> None:
    seen: dict[str, set[str]] = {}

    def ask_as(key: str) -> None:
        settings, connector, agent = bodies(origin, key)
        (trusted,) = settings["persistent"]["plugins.ml_commons.trusted_connector_endpoints_regex"]
        assert re.fullmatch(trusted, connector["url"])
        assert connector["headers"] == {"Authorization": "Bearer ${credential.key}"}
        (used,) = agent["parameters"]["mcp_connectors"]

        async def ask(door: Door) -> None:
            await door.settled()
            offered = await door.tools()
            for wanted in used["tool_filters"]:
                assert any(re.search(wanted, name) for name in offered), wanted
            seen[key] = {each["id"] for each in (await door.search("weather in Rome", k=20))["tools"]}
            called = await door.call("notes/notes/read_note", title="theirs")
            assert called.content[0].text == "read_note: theirs"

        over_http(connector["url"] + connector["parameters"]["endpoint"], ask, connector["credential"]["key"])

    with serving("--config", str(config)) as url:
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        for key in ("agents-of-staff", "agents-of-guests"):
            ask_as(key)
    assert "functions/functions/get_weather" in seen["agents-of-staff"]
    assert not any("get_weather" in each for each in seen["agents-of-guests"])


def test_the_pages_tools_are_set_by_their_maker_and_not_by_a_model() -> None:
    """ml-commons lets requests replace `parameters` of an agent's tool, and no `config`."""
    page = (Path(__file__).resolve().parents[3] / "docs" / "mcp.md").read_text("utf-8")
    blocks = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", page, re.DOTALL)]
    alone, registered, flow = (block for block in blocks if "KitpickSearchTool" in str(block))
    find, answer = flow["tools"]
    for tool in (alone, find):
        assert "parameters" not in tool
        assert tool["config"]["index"] == "tools"
    assert json.loads(find["config"]["filter"]) == {"term": {"category": "ml-commons"}}
    found = answer["config"]["input"].replace("${parameters.find.output}", '["a", "b"]')
    assert json.loads(found) == {"selected_tools": ["a", "b"]}
    (tool,) = registered["tools"]
    assert tool["parameters"] == alone["config"]
    assert list(tool["attributes"]["input_schema"]["properties"]) == ["text"]


def test_an_address_that_only_begins_alike_is_not_trusted() -> None:
    settings, *_ = bodies("https://tools.internal:8081", "secret")
    (trusted,) = settings["persistent"]["plugins.ml_commons.trusted_connector_endpoints_regex"]
    assert re.fullmatch(trusted, "https://tools.internal:8081/mcp")
    for other in (
        "https://tools.internal:80812",
        "https://tools-internal:8081",
        "https://tools.internal:8081.evil",
    ):
        assert not re.fullmatch(trusted, other)
