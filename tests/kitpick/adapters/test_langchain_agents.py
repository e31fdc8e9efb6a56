"""LangChain's own agent over a catalog."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_chat import ask, call, final, scripted

from kitpick.adapters.conversation_tools import ConversationTools
from kitpick.catalog import Catalog

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "langchain_agents"),
    pytest.mark.filterwarnings("ignore"),
]


def search() -> Any:
    return call("search_tools", capabilities=["forecast the weather"])


def test_an_agent_finds_tools_while_it_works(catalog: Catalog, calls: Any, weather: str) -> None:
    from langchain.agents import create_agent

    from kitpick.adapters.langchain_agents import KitpickMiddleware

    model, offered = scripted(search(), call(weather, city="Paris"), final("It will rain."))
    agent = create_agent(
        model, [], middleware=[KitpickMiddleware(ConversationTools(catalog, calls.run, k=1))]
    )
    said = agent.invoke(ask("will it rain in Paris?"))["messages"]
    assert said[-1].content == "It will rain."
    assert said[-2].content == '{"weather":"rain"}'
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert offered == [["search_tools"], *[["search_tools", weather]] * 2]


def test_so_does_an_async_one(catalog: Catalog, calls: Any, weather: str) -> None:
    from langchain.agents import create_agent

    from kitpick.adapters.langchain_agents import KitpickMiddleware

    model, _ = scripted(search(), call(weather, city="Paris"), final("It will rain."))
    tools = ConversationTools(catalog, calls.arun, k=1)
    agent = create_agent(model, [], middleware=[KitpickMiddleware(tools)])
    said = asyncio.run(agent.ainvoke(ask("will it rain in Paris?")))["messages"]
    assert said[-1].content == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_what_an_api_raises_and_what_was_never_offered_is_said_to_the_model(
    catalog: Catalog, weather: str
) -> None:
    from langchain.agents import create_agent

    from kitpick.adapters.langchain_agents import KitpickMiddleware

    def broken(document: Any, arguments: Any) -> Any:
        raise OSError("the server is gone")

    model, _ = scripted(call("delete_file", path="/"), search(), call(weather, city="Paris"), final("Sorry."))
    agent = create_agent(model, [], middleware=[KitpickMiddleware(ConversationTools(catalog, broken, k=1))])
    said = agent.invoke(ask("will it rain in Paris?"))["messages"]
    refused, failed = said[2], said[-2]
    assert (refused.status, failed.status) == ("error", "error")
    assert "delete_file" in refused.content
    assert failed.content == "OSError: the server is gone"


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    model, offered = scripted(search(), call(page_weather, city="Paris"), final("It will rain."))
    names = five_minutes("LangChain", model=model)
    assert names["answer"]["messages"][-2].content == "get_weather of Paris: rain"
    assert page_weather not in offered[0]
