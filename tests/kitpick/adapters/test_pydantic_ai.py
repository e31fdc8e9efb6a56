"""Pydantic AI: its own agent calls what was found."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from kitpick.adapters.conversation_tools import ConversationTools
from kitpick.catalog import Catalog

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "pydantic_ai"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def loop() -> Iterator[None]:
    """`run_sync` takes the thread's event loop and leaves it open: here it is closed."""
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    yield
    asyncio.set_event_loop(None)
    own.close()


def scripted(*turns: Any) -> tuple[Any, list[list[str]]]:
    """A model that says these parts, and the names of the tools that it was offered in each turn."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import FunctionModel

    script, offered = list(turns), []

    def answer(messages: Any, info: Any) -> Any:
        offered.append([tool.name for tool in info.function_tools])
        return ModelResponse(parts=[script.pop(0)])

    return FunctionModel(answer), offered


@pytest.mark.parametrize("run", ["run", "arun"])
def test_hits_are_tools(catalog: Catalog, calls: Any, weather: str, run: str) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import TextPart, ToolCallPart

    from kitpick.adapters.pydantic_ai import pydantic_ai_tools

    model, offered = scripted(ToolCallPart(weather, {"city": "Paris"}), TextPart("It will rain."))
    tools = pydantic_ai_tools(catalog.search("will it rain in Paris?", k=2), getattr(calls, run))
    answer = Agent(model, tools=tools).run_sync("will it rain in Paris?")
    assert answer.output == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert offered[0][0] == weather


@pytest.mark.parametrize("run", ["run", "arun"])
def test_a_toolset_searches_and_what_it_finds_can_be_called(
    catalog: Catalog, calls: Any, weather: str, run: str
) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import TextPart, ToolCallPart

    from kitpick.adapters.pydantic_ai import KitpickToolset

    model, offered = scripted(
        ToolCallPart("search_tools", {"capabilities": ["forecast the weather"]}),
        ToolCallPart(weather, {"city": "Paris"}),
        TextPart("It will rain."),
        ToolCallPart(weather, {"city": "Rome"}),
        TextPart("There as well."),
    )
    agent = Agent(model, toolsets=[KitpickToolset(ConversationTools(catalog, getattr(calls, run), k=1))])
    first = agent.run_sync("will it rain in Paris?")
    assert first.output == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]
    again = agent.run_sync("and in Rome?", message_history=first.all_messages())
    assert again.output == "There as well."
    assert offered == [["search_tools"], *[["search_tools", weather]] * 4], "what was found stays"


def test_a_tool_that_was_never_offered_is_not_called(catalog: Catalog, calls: Any) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.messages import TextPart, ToolCallPart

    from kitpick.adapters.pydantic_ai import KitpickToolset

    model, _ = scripted(ToolCallPart("delete_file", {"path": "/"}), TextPart("Then not."))
    agent = Agent(model, toolsets=[KitpickToolset(ConversationTools(catalog, calls.run))])
    assert agent.run_sync("delete everything").output == "Then not."
    assert calls.made == []


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    from pydantic_ai.messages import TextPart, ToolCallPart

    model, offered = scripted(
        ToolCallPart("search_tools", {"capabilities": ["forecast the weather"]}),
        ToolCallPart(page_weather, {"city": "Paris"}),
        TextPart("It will rain."),
    )
    five_minutes("Pydantic AI", model=model)
    assert page_weather in offered[1]
