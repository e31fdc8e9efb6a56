"""The hook, called by the code of LiteLLM's proxy that calls it there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.settings import Settings

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
NAMES = {
    "get_weather": "Current weather and forecast for a city",
    "send_email": "Send an email message to a recipient",
    "create_event": "Create a new event in the calendar",
    "convert_currency": "Convert an amount of money between two currencies",
    "translate_text": "Translate a text into another language",
    "delete_file": "Delete a file from the disk for ever",
}
PARAMETERS = {"type": "object", "properties": {"value": {"type": "string"}}}
CHAT = [
    {"type": "function", "function": {"name": name, "description": text, "parameters": PARAMETERS}}
    for name, text in NAMES.items()
]
RESPONSES = [
    {"type": "function", "name": name, "description": text, "parameters": PARAMETERS}
    for name, text in NAMES.items()
]
ANTHROPIC = [{"name": name, "description": text, "input_schema": PARAMETERS} for name, text in NAMES.items()]
QUESTION = {"role": "user", "content": "What will the weather be like in Paris?"}


@pytest.fixture
def pass_through(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What becomes of a request on its way through the proxy."""
    import litellm
    from litellm.caching.dual_cache import DualCache
    from litellm.proxy._types import UserAPIKeyAuth
    from litellm.proxy.utils import ProxyLogging

    from kitpick.adapters.litellm import NarrowTools

    hooks = []

    def passed(data: dict[str, Any], call_type: str = "acompletion", **options: Any) -> dict[str, Any]:
        hook = NarrowTools(**{"k": 2, "deadline": 60, "settings": settings, **options})
        hooks.append(hook)
        monkeypatch.setattr(litellm, "callbacks", [hook])
        proxy = ProxyLogging(user_api_key_cache=DualCache())
        sent = proxy.pre_call_hook(
            user_api_key_dict=UserAPIKeyAuth(api_key="k"), data=data, call_type=call_type
        )
        return asyncio.run(sent)

    yield passed
    for hook in hooks:
        hook.close()


def names(data: dict[str, Any]) -> list[str]:
    return [tool.get("function", tool).get("name") for tool in data["tools"]]


def test_a_model_gets_the_tools_that_a_request_needs(pass_through: Any) -> None:
    sent = pass_through({"model": "m", "messages": [QUESTION], "tools": CHAT, "metadata": {"user": "u"}})
    assert "get_weather" in names(sent)
    assert len(names(sent)) == 2
    assert [tool for tool in CHAT if tool in sent["tools"]] == sent["tools"]
    assert sent["metadata"]["user"] == "u"
    assert sent["metadata"]["kitpick"] == {"degraded": [], "offered": 6, "kept": 2}


def test_so_it_does_in_responses_and_in_anthropics_messages(pass_through: Any) -> None:
    sent = pass_through({"model": "m", "input": QUESTION["content"], "tools": RESPONSES}, "aresponses")
    assert "get_weather" in names(sent)
    assert len(names(sent)) == 2
    body = {"model": "m", "messages": [QUESTION], "tools": ANTHROPIC, "metadata": {"user_id": "u"}}
    sent = pass_through(body | {"litellm_metadata": {}}, "anthropic_messages")
    assert "get_weather" in names(sent)
    assert sent["metadata"] == {"user_id": "u"}
    assert sent["litellm_metadata"]["kitpick"]["kept"] == 2


def test_a_follow_up_is_read_with_what_it_refers_to(pass_through: Any) -> None:
    earlier = [
        {"role": "user", "content": "Convert 5 euros to dollars"},
        {"role": "assistant", "content": "5.40"},
    ]
    sent = pass_through(
        {"messages": [*earlier, {"role": "user", "content": "and Japan?"}], "tools": CHAT}, k=1
    )
    assert names(sent) == ["convert_currency"]


def test_few_tools_and_wordless_requests_pass_as_they_are(pass_through: Any) -> None:
    for data in (
        {"messages": [QUESTION], "tools": CHAT[:2]},
        {"messages": [QUESTION]},
        {"messages": [{"role": "system", "content": "be kind"}], "tools": CHAT},
        {"messages": "what?", "tools": CHAT},
        {"messages": [QUESTION], "tools": "none"},
    ):
        given = {"model": "m", **data}
        assert pass_through(dict(given)) == given


def test_forced_called_and_hosted_tools_are_never_removed(pass_through: Any) -> None:
    forced = {"type": "function", "function": {"name": "delete_file"}}
    sent = pass_through({"messages": [QUESTION], "tools": CHAT, "tool_choice": forced})
    assert set(names(sent)) == {"get_weather", "delete_file"}
    call = {"id": "1", "type": "function", "function": {"name": "send_email", "arguments": "{}"}}
    called = [
        QUESTION,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "sent"},
    ]
    sent = pass_through({"messages": called, "tools": CHAT})
    assert set(names(sent)) == {"get_weather", "send_email"}
    hosted = {"type": "web_search"}
    sent = pass_through({"input": QUESTION["content"], "tools": [*RESPONSES, hosted]}, "aresponses")
    assert hosted in sent["tools"]
    assert "get_weather" in names(sent)
    sent = pass_through({"messages": [QUESTION], "tools": CHAT}, always=["delete_file", "no_such_tool"])
    assert set(names(sent)) == {"get_weather", "delete_file"}
    everything = [call | {"function": {"name": name, "arguments": "{}"}} for name in NAMES]
    busy = [QUESTION, {"role": "assistant", "content": None, "tool_calls": everything}]
    assert pass_through({"messages": busy, "tools": CHAT})["tools"] == CHAT


def test_what_nobody_can_read_fills_up_what_is_left(pass_through: Any) -> None:
    odd = [{"type": "function", "function": {"name": name, "description": "?"}} for name in (" ", "\t")]
    assert pass_through({"messages": [QUESTION], "tools": [*odd, *CHAT]})["tools"][0] in CHAT
    assert pass_through({"messages": [QUESTION], "tools": [*odd, CHAT[0]]})["tools"] == [odd[0], CHAT[0]]
    nameless = {"type": "function", "function": {"name": "", "description": "?"}}
    assert nameless in pass_through({"messages": [QUESTION], "tools": [*CHAT, nameless]})["tools"]


def test_what_cannot_be_ranked_passes_with_all_tools_and_a_note(
    pass_through: Any, settings: Settings
) -> None:
    broken = replace(settings, profile="no-such-profile")
    sent = pass_through({"messages": [QUESTION], "tools": CHAT}, settings=broken)
    assert sent["tools"] == CHAT
    (reason,) = sent["metadata"]["kitpick"]["degraded"]
    assert "no-such-profile" in reason
    late = pass_through({"messages": [QUESTION], "tools": CHAT}, deadline=1e-6)
    assert late["tools"] == CHAT
    assert late["metadata"]["kitpick"]["degraded"] == ["narrow: no answer within 1e-06 s"]
