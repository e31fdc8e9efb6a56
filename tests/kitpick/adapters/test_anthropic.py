"""Anthropic's SDK, talking to a model on a socket."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kitpick.catalog import Catalog

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Paris?"
ASKED: dict[str, Any] = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": QUERY}]}


def test_the_tool_runner_calls_the_api_that_was_found(catalog: Catalog, calls: Any, model: Any) -> None:
    import anthropic

    from kitpick.adapters.anthropic import runnable_tools

    result = catalog.search(QUERY, 2)
    with anthropic.Anthropic() as client:
        final = client.beta.messages.tool_runner(
            tools=runnable_tools(result, calls.run), **ASKED
        ).until_done()
    assert final.content[0].text == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert model.bodies[0]["tools"] == result.definitions("anthropic")
    (answer,) = model.bodies[1]["messages"][-1]["content"]
    assert answer["content"] == '{"weather":"rain"}'


def test_so_does_the_async_one(catalog: Catalog, calls: Any, model: Any) -> None:
    import anthropic

    from kitpick.adapters.anthropic import runnable_tools

    tools = runnable_tools(catalog.search(QUERY, 2), calls.arun)

    async def ask() -> Any:
        async with anthropic.AsyncAnthropic() as client:
            return await client.beta.messages.tool_runner(tools=tools, **ASKED).until_done()

    assert asyncio.run(ask()).content[0].text == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_calls_of_a_message_are_answered_and_failures_told(catalog: Catalog, calls: Any, model: Any) -> None:
    import anthropic

    from kitpick.adapters.anthropic import tool_results

    result = catalog.search(QUERY, 2)
    cached = [*result.definitions("anthropic")]
    cached[-1] = cached[-1] | {"cache_control": {"type": "ephemeral"}}
    with anthropic.Anthropic() as client:
        message = client.messages.create(tools=cached, **ASKED)
    (answer,) = tool_results(message, result, calls.run)
    assert answer == {"type": "tool_result", "tool_use_id": "call_1", "content": '{"weather":"rain"}'}
    assert model.bodies[0]["tools"][-1]["cache_control"] == {"type": "ephemeral"}

    def failing(document: Any, arguments: dict[str, Any]) -> None:
        raise TimeoutError("no answer")

    (answer,) = tool_results(message, result, failing)
    assert (answer["content"], answer["is_error"]) == ("TimeoutError: no answer", True)
    other = catalog.search("delete a file", 1)
    assert tool_results(message, other, calls.run) == []
