"""Resources and prompts as tools, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitpick_ingest.sources.mcp_offers import Offer, offer_of, prompt_tool, resource_tool, template_tool


def offer(tool: dict[str, Any]) -> Offer | None:
    return offer_of(json.dumps(tool))


def test_a_resource_is_read_without_inputs() -> None:
    given = {
        "uri": "file:///rules.md",
        "name": "rules",
        "description": "House rules",
        "mimeType": "text/plain",
    }
    tool = resource_tool(given)
    assert (tool["name"], tool["description"]) == ("resource.rules", "House rules (Resource, text/plain)")
    assert tool["inputSchema"]["properties"] == {}
    assert offer(tool) == Offer(resource="file:///rules.md")


def test_a_template_is_filled_with_its_inputs() -> None:
    tool = template_tool({"uriTemplate": "notes://{user}/{note}", "name": "note"})
    assert tool["inputSchema"]["required"] == ["user", "note"]
    found = offer(tool)
    assert found is not None
    assert found.uri({"user": "ann", "note": "a/b ../c"}) == "notes://ann/a%2Fb%20..%2Fc"


@pytest.mark.parametrize(
    ("template", "given", "expected"),
    [
        ("repo://{owner}/{repo}/contents{/path*}", {"owner": "a", "repo": "b", "path": "src/x y.py"},
         "repo://a/b/contents/src/x%20y.py"),
        ("repo://{owner}/contents{/path*}", {"owner": "a", "path": ["src", "x/y"]}, "repo://a/contents/src/x%2Fy"),
        ("repo://{owner}/contents{/path*}", {"owner": "a"}, "repo://a/contents"),
        ("file:///{+path}", {"path": "src/x y.py"}, "file:///src/x%20y.py"),
        ("file:///{path}", {"path": "src/x.py"}, "file:///src%2Fx.py"),
        ("https://x.org/find{?q,limit}", {"q": "a&b", "limit": 3}, "https://x.org/find?q=a%26b&limit=3"),
        ("https://x.org/find?a=1{&q}{#part}", {"q": True}, "https://x.org/find?a=1&q=true"),
        ("x://{a,b}{.kind}", {"a": 1, "b": "c", "kind": "png"}, "x://1,c.png"),
    ],
)  # fmt: skip
def test_a_template_is_filled_by_the_rules_of_rfc_6570(
    template: str, given: dict[str, Any], expected: str
) -> None:
    """`{/path*}` is how GitHub's server names a file of a repository."""
    assert Offer(template=template).uri(given) == expected


def test_what_stands_in_a_query_may_be_left_out() -> None:
    template = "docs://{+path}{?q,limit}{&page,path}"
    schema = template_tool({"uriTemplate": template, "name": "docs"})["inputSchema"]
    assert list(schema["properties"]) == ["path", "q", "limit", "page"]
    assert schema["required"] == ["path"]


def test_a_prompt_has_its_own_arguments() -> None:
    arguments = [{"name": "text", "required": True, "description": "What to shorten"}, {"name": "style"}, 3]
    tool = prompt_tool({"name": "shorten", "title": "Shorten a text", "arguments": arguments})
    assert tool["name"] == "prompt.shorten"
    assert tool["inputSchema"]["required"] == ["text"]
    assert tool["inputSchema"]["properties"]["text"]["description"] == "What to shorten"
    assert offer(tool) == Offer(prompt="shorten")


@pytest.mark.parametrize(
    "definition", ["", "no json", "{}", "[]", '{"_meta": 3}', '{"_meta": {"kitpick/offer": 3}}']
)
def test_other_definitions_stand_for_themselves(definition: str) -> None:
    assert offer_of(definition) is None


@pytest.mark.parametrize("name", [None, "", 3])
def test_what_has_no_name_stays_as_it_came(name: object) -> None:
    prompt = {"name": name, "description": "Shortens a text."}
    assert prompt_tool(prompt) is prompt
