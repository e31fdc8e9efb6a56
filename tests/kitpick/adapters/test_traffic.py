"""Reading requests to language models, whatever they hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick.adapters.traffic import called_names, forced_names, function_name, last_request


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
    "data",
    [
        {"input": "rain?"},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "rain?"}]}]},
        {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": " rain? "}]},
        {
            "messages": [
                {"role": "user", "content": "rain?"},
                {"role": "assistant", "content": "let me see"},
                {"role": "user", "content": [{"type": "tool_result", "content": "wet"}]},
            ]
        },
    ],
)
def test_what_the_user_wrote_last_is_the_request(data: dict[str, Any]) -> None:
    assert last_request(data) == "rain?"


@pytest.mark.parametrize(
    "data",
    [
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}]},
        {"input": [{"type": "function_call", "name": "f"}]},
    ],
)
def test_what_was_called_is_known(data: dict[str, Any]) -> None:
    assert called_names(data) == {"f"}


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
            st.sampled_from(
                ["messages", "input", "role", "content", "type", "tool_calls", "function", "name"]
            )
            | st.sampled_from(["tool_choice", "tools", "allowed_tools", "text", "user", "tool_use"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(JSON)
def test_whatever_comes_is_read_without_an_error(value: Any) -> None:
    data = value if isinstance(value, dict) else {"messages": value, "input": value, "tool_choice": value}
    assert isinstance(last_request(data), str)
    for names in (called_names(data), forced_names(data)):
        assert all(isinstance(name, str) and name for name in names)
    assert isinstance(function_name(value), str)
