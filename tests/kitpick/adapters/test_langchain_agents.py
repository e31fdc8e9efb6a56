"""LangChain's own agent and langgraph-bigtool's, over a catalog."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kitpick.adapters.conversation_tools import ConversationTools
from kitpick.catalog import Catalog

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "langchain_agents"),
    pytest.mark.filterwarnings("ignore"),
]


def scripted(*turns: Any) -> tuple[Any, list[list[str]]]:
    """A chat model that says these messages, and the names of the tools that it was offered in each turn."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    offered: list[list[str]] = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **more: Any) -> Any:
            offered.append([tool.name for tool in tools])
            return self

    return Model(messages=iter(turns)), offered


def call(name: str, **arguments: Any) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage("", tool_calls=[{"id": name, "name": name, "args": arguments}])


def search() -> Any:
    return call("search_tools", capabilities=["forecast the weather"])


def final(text: str) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage(text)


def ask(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


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


def test_bigtool_retrieves_from_the_catalog(catalog: Catalog, calls: Any, weather: str) -> None:
    from langgraph_bigtool import create_agent

    from kitpick.adapters.langchain_agents import bigtool_registry, bigtool_retriever

    model, offered = scripted(
        call("retrieve_tools", query="forecast the weather"), final("I can see to that.")
    )
    registry = bigtool_registry(catalog, calls.run)
    assert len(registry) == 8
    builder = create_agent(model, registry, retrieve_tools_function=bigtool_retriever(catalog, k=1))
    # Its version 0.0.3 cannot call any tool with the latest langgraph: so none is called through it.
    found = builder.compile().invoke({**ask("will it rain?"), "selected_tool_ids": []})
    assert found["messages"][-1].content == "I can see to that."
    assert found["selected_tool_ids"] == ["functions/functions/get_weather"]
    assert offered[1] == ["retrieve_tools", weather]
    assert registry["functions/functions/get_weather"].invoke({"city": "Paris"}) == {"weather": "rain"}
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    model, offered = scripted(search(), call(page_weather, city="Paris"), final("It will rain."))
    names = five_minutes("LangChain", model=model)
    assert names["answer"]["messages"][-2].content == "get_weather of Paris: rain"
    assert page_weather not in offered[0]


def test_so_does_its_retrieval_for_bigtool(five_minutes: Any) -> None:
    model, _ = scripted(call("retrieve_tools", query="forecast the weather"), final("I can see to that."))
    five_minutes("LangGraph", model=model)
