"""langgraph-bigtool: its own agent retrieves from a catalog and calls what it retrieved."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from scripted_chat import ask, call, final, scripted

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "bigtool"),
    pytest.mark.filterwarnings("ignore"),
]
WEATHER = "functions/functions/get_weather"


def retrieval(name: str = "retrieve_tools") -> Any:
    return call(name, query="forecast the weather")


def test_its_agent_calls_what_it_retrieved(catalog: Catalog, calls: Any, weather: str) -> None:
    from langgraph_bigtool import create_agent

    from kitpick.adapters.langgraph_bigtool import KitpickBigtool

    model, offered = scripted(retrieval(), call(weather, city="Paris"), final("It will rain."))
    tools = KitpickBigtool(catalog, calls.run, k=1)
    agent = create_agent(
        model,
        tools.registry,
        retrieve_tools_function=tools.retrieve_tools,
        retrieve_tools_coroutine=tools.aretrieve_tools,
    ).compile()
    found = agent.invoke({**ask("will it rain in Paris?"), "selected_tool_ids": []})
    assert found["selected_tool_ids"] == [WEATHER]
    assert offered == [["retrieve_tools"], *[["retrieve_tools", weather]] * 2]
    assert json.loads(found["messages"][-2].content) == {"weather": "rain"}
    assert found["messages"][-1].content == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_so_does_an_async_one(catalog: Catalog, calls: Any, weather: str) -> None:
    from langgraph_bigtool import create_agent

    from kitpick.adapters.langgraph_bigtool import KitpickBigtool

    model, _ = scripted(retrieval("aretrieve_tools"), call(weather, city="Paris"), final("It will rain."))
    tools = KitpickBigtool(catalog, calls.arun, k=1)
    agent = create_agent(model, tools.registry, retrieve_tools_coroutine=tools.aretrieve_tools).compile()
    found = asyncio.run(agent.ainvoke({**ask("will it rain?"), "selected_tool_ids": []}))
    assert found["selected_tool_ids"] == [WEATHER]
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_what_is_hidden_came_later_or_fits_nothing_is_not_retrieved(
    catalog: Catalog, calls: Any, tmp_path: Any
) -> None:
    from kitpick.adapters.langgraph_bigtool import KitpickBigtool

    nobody = Filter(categories=frozenset({"none"}))
    assert KitpickBigtool(catalog, calls.run, filter=nobody).registry == {}
    tools = KitpickBigtool(catalog, calls.run)
    assert len(tools.registry) == 8
    (tmp_path / "post.json").write_text(
        json.dumps([{"name": "send_letter", "description": "Send a letter on paper"}])
    )
    catalog.ingest(f"functions:{tmp_path / 'post.json'}")
    assert set(tools.retrieve_tools("send a letter on paper")) <= tools.registry.keys()
    later = KitpickBigtool(catalog, calls.run).retrieve_tools("send a letter on paper")
    assert later[0] == "post/post/send_letter"
    assert tools.retrieve_tools("trim the hedge in the garden") == []


def test_what_an_api_raises_is_said_to_the_model(catalog: Catalog, weather: str) -> None:
    from langgraph_bigtool import create_agent

    from kitpick.adapters.langgraph_bigtool import KitpickBigtool

    def broken(document: Any, arguments: Any) -> Any:
        raise OSError("the server is gone")

    model, _ = scripted(retrieval(), call(weather, city="Paris"), final("Sorry."))
    tools = KitpickBigtool(catalog, broken, k=1)
    agent = create_agent(model, tools.registry, retrieve_tools_function=tools.retrieve_tools).compile()
    said = agent.invoke({**ask("will it rain?"), "selected_tool_ids": []})["messages"]
    assert (said[-2].content, said[-2].status) == ("OSError: the server is gone", "error")
    assert said[-1].content == "Sorry."


@pytest.mark.parametrize("kind", ["run", "arun"])
def test_a_call_is_feedback_for_the_retrieval_of_its_thread(
    catalog: Catalog, calls: Any, weather: str, kind: str
) -> None:
    from langgraph_bigtool import create_agent

    from kitpick.adapters.langgraph_bigtool import KitpickBigtool

    tools = KitpickBigtool(catalog, getattr(calls, kind), k=1, client="ann")

    def asked(words: str, thread: str | None) -> None:
        model, _ = scripted(call("retrieve", query=words), call(weather, city="Paris"), final("Yes."))
        agent = create_agent(
            model, tools.registry, retrieve_tools_function=retrieve, retrieve_tools_coroutine=aretrieve
        ).compile()
        config = {"configurable": {"thread_id": thread}} if thread else {}
        given = {**ask("will it rain?"), "selected_tool_ids": []}
        if kind == "run":
            agent.invoke(given, config)
        else:
            asyncio.run(agent.ainvoke(given, config))

    def retrieve(query: str) -> list[str]:
        """Finds tools."""
        return tools.retrieve_tools(query)

    async def aretrieve(query: str) -> list[str]:
        """Finds tools."""
        return await tools.aretrieve_tools(query)

    aretrieve.__name__ = "retrieve"

    def choosers(words: str) -> list[str]:
        tallies = catalog.intents.behind(words, Filter()).values()
        return [client for each in tallies for client in each.choices]

    asked("forecast the weather", None)
    assert choosers("forecast the weather") == [], "of no thread"
    asked("forecast the weather", "t1")
    asked("weather in a city", "t2")
    assert choosers("forecast the weather") == ["ann"]
    assert choosers("weather in a city") == ["ann"]


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    model, _ = scripted(retrieval(), call(page_weather, city="Paris"), final("It will rain."))
    five_minutes("LangGraph", model=model)
