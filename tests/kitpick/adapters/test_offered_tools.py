"""Ranking tools that come with a request."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick.adapters.errors import TooManyTools
from kitpick.adapters.offered_tools import OfferedTools, forced_names, function_name
from kitpick.settings import Settings
from kitpick_ingest.errors import SourceError

RANKING = pytest.mark.needs("weights", "onnxruntime")
QUERY = "What will the weather be like in Paris?"


def tool(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "description": description, "input_schema": {"type": "object", "properties": {}}}


TOOLS = [
    tool("send_email", "Send an email message"),
    tool("get_weather", "Current weather of a city"),
    tool("delete_file", "Delete a file"),
]


@pytest.fixture
def offered(settings: Settings) -> Iterator[OfferedTools]:
    tools = OfferedTools(settings, max_lists=2)
    yield tools
    tools.close()


def found(offered: OfferedTools, tools: list[dict[str, Any]], k: int = 10) -> list[str]:
    return [hit.document.api for hit in offered.search(QUERY, tools, k).hits]


@RANKING
def test_the_best_come_first_and_only_those_that_were_offered(offered: OfferedTools) -> None:
    assert found(offered, TOOLS)[0] == "get_weather"
    assert sorted(found(offered, TOOLS)) == ["delete_file", "get_weather", "send_email"]
    assert found(offered, TOOLS[:1]) == ["send_email"]
    assert found(offered, TOOLS, 1) == ["get_weather"]
    assert found(offered, []) == []


@RANKING
def test_old_lists_are_forgotten_and_come_back_when_they_are_offered_again(offered: OfferedTools) -> None:
    lists = [TOOLS, TOOLS[1:], TOOLS[:2]]
    for tools in [*lists, *lists]:
        assert sorted(found(offered, tools)) == sorted(item["name"] for item in tools)
        stats = offered._catalog.stats()
        assert stats is not None
        assert stats.documents <= 5


@RANKING
def test_however_many_lists_come_the_files_stay_the_same(offered: OfferedTools) -> None:
    """Agents write the date into a description: then each of their lists comes once."""

    def files() -> list[str]:
        return sorted(file.name for file in offered._path.rglob("*"))

    for day in range(2):
        found(offered, [tool("get_weather", f"Weather. Today is day {day}.")])
    before = files()
    for day in range(2, 8):
        assert found(offered, [tool("get_weather", f"Weather. Today is day {day}.")]) == ["get_weather"]
    assert files() == before


@RANKING
def test_a_list_that_could_not_be_taken_in_takes_no_room(
    offered: OfferedTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("kitpick.adapters.offered_tools._Offered.read", lambda self: iter([5]))
        for number in range(5):
            with pytest.raises(SourceError):
                found(offered, [tool(f"broken_{number}", "")])
    for tools in (TOOLS, TOOLS[1:], TOOLS):
        assert sorted(found(offered, tools)) == sorted(item["name"] for item in tools)


@RANKING
def test_a_list_that_would_take_minutes_is_refused(offered: OfferedTools) -> None:
    with pytest.raises(TooManyTools, match="1,001 tools"):
        offered.search(QUERY, [tool(f"f{number}", "") for number in range(1_001)], 5)


@RANKING
def test_requests_of_many_threads_each_see_their_own_list(offered: OfferedTools) -> None:
    lists = [TOOLS, TOOLS[1:]] * 6
    with ThreadPoolExecutor(4) as pool:
        for tools, names in zip(lists, pool.map(lambda tools: found(offered, tools), lists), strict=True):
            assert sorted(names) == sorted(item["name"] for item in tools)


@RANKING
def test_what_is_no_function_is_left_out(offered: OfferedTools) -> None:
    assert found(offered, [*TOOLS, {"type": "web_search"}, {"name": ""}])[0] == "get_weather"


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"type": "function", "function": {"name": "f"}}, "f"),
        ({"type": "function", "name": "f", "parameters": {}}, "f"),
        ({"name": "f", "input_schema": {}}, "f"),
        ({"type": "custom", "name": "f", "input_schema": {}}, "f"),
        ({"type": "web_search_20250305", "name": "web_search"}, ""),
        ({"type": "mcp", "server_label": "s"}, ""),
        ({"type": "function", "function": "f"}, ""),
        ("f", ""),
    ],
)
def test_functions_have_names_and_hosted_tools_none(tool: Any, name: str) -> None:
    assert function_name(tool) == name


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        ("auto", set()),
        ({"type": "auto"}, set()),
        ({"type": "function", "function": {"name": "f"}}, {"f"}),
        ({"type": "function", "name": "f"}, {"f"}),
        ({"type": "tool", "name": "f"}, {"f"}),
        ({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}, {"f"}),
        (
            {
                "type": "allowed_tools",
                "allowed_tools": {"tools": [{"type": "function", "function": {"name": "f"}}]},
            },
            {"f"},
        ),
    ],
)
def test_what_tool_choice_names_is_known(choice: Any, names: set[str]) -> None:
    assert forced_names({"tool_choice": choice}) == names


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["tool_choice", "tools", "allowed_tools", "type", "function", "name"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_whatever_a_request_offers_is_read_without_an_error(value: Any) -> None:
    body = value if isinstance(value, dict) else {"tool_choice": value}
    assert all(isinstance(name, str) and name for name in forced_names(body))
    assert isinstance(function_name(value), str)
