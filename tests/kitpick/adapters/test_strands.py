"""Strands: its own agent calls what was found."""

from __future__ import annotations

from typing import Any

import pytest

from kitpick.catalog import Catalog

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "strands"),
    pytest.mark.filterwarnings("ignore"),
]


def calling(name: str, final: str = "") -> Any:
    """A model that calls a tool, then says this, or what the tool answered."""
    from strands.models import Model

    class Scripted(Model):
        def __init__(self) -> None:
            self.offered: list[list[str]] = []

        def update_config(self, **more: Any) -> None: ...

        def get_config(self) -> Any:
            return {}

        async def structured_output(self, *given: Any, **more: Any) -> Any:
            yield {}

        async def stream(self, messages: Any, tool_specs: Any = None, *given: Any, **more: Any) -> Any:
            self.offered.append([spec["name"] for spec in tool_specs])
            last = messages[-1]["content"][0]
            yield {"messageStart": {"role": "assistant"}}
            if "toolResult" in last:
                result = last["toolResult"]
                text = final or f"{result['status']}: {result['content'][0]['text']}"
                yield {"contentBlockDelta": {"delta": {"text": text}}}
                yield {"contentBlockStop": {}}
                yield {"messageStop": {"stopReason": "end_turn"}}
                return
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": "1", "name": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": '{"city": "Paris"}'}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}

    return Scripted()


@pytest.mark.parametrize("run", ["run", "arun"])
def test_hits_are_tools(catalog: Catalog, calls: Any, weather: str, run: str) -> None:
    from strands import Agent

    from kitpick.adapters.strands import strands_tools

    model = calling(weather)
    tools = strands_tools(catalog.search("will it rain in Paris?", k=2), getattr(calls, run))
    answer = Agent(model=model, tools=tools, callback_handler=None)("will it rain in Paris?")
    assert str(answer).strip() == 'success: {"weather":"rain"}'
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert weather in model.offered[0]


def test_what_an_api_raises_is_said_to_the_model(catalog: Catalog, weather: str) -> None:
    from strands import Agent

    from kitpick.adapters.strands import strands_tools

    def broken(document: Any, arguments: Any) -> Any:
        raise OSError("the server is gone")

    tools = strands_tools(catalog.search("will it rain in Paris?", k=1), broken)
    answer = Agent(model=calling(weather), tools=tools, callback_handler=None)("will it rain?")
    assert str(answer).strip() == "error: OSError: the server is gone"


def test_a_tool_that_was_never_offered_is_not_called(catalog: Catalog, calls: Any) -> None:
    from strands import Agent

    from kitpick.adapters.strands import strands_tools

    tools = strands_tools(catalog.search("will it rain in Paris?", k=1), calls.run)
    answer = Agent(model=calling("delete_file"), tools=tools, callback_handler=None)("delete everything")
    assert str(answer).startswith("error: ")
    assert calls.made == []


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    model = calling(page_weather, "It will rain.")
    five_minutes("Strands", model=model)
    assert page_weather in model.offered[0]
