"""LlamaIndex' own interfaces over a catalog."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kitpick.adapters.errors import InvalidArguments
from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Lisbon?"


def test_an_agent_gets_the_tools_that_its_request_needs(catalog: Catalog, calls: Any) -> None:
    from llama_index.core.objects import ObjectRetriever

    from kitpick.adapters.llama_index import KitpickToolRetriever

    retriever = KitpickToolRetriever(catalog, calls.arun, k=2)
    assert isinstance(retriever, ObjectRetriever)
    tool, _ = asyncio.run(retriever.aretrieve(QUERY))
    described = tool.metadata.to_openai_tool()["function"]
    assert described["parameters"]["properties"] == {"city": {"type": "string"}}
    assert "get_weather_" in described["name"]
    assert asyncio.run(tool.acall(city="Rome")).raw_output == {"weather": "rain"}
    (synchronous,) = KitpickToolRetriever(catalog, calls.run, k=1).retrieve(QUERY)
    assert synchronous.call(city="Oslo").raw_output == {"weather": "rain"}
    assert calls.made == [("get_weather", {"city": "Rome"}), ("get_weather", {"city": "Oslo"})]
    with pytest.raises(InvalidArguments, match="top"):
        KitpickToolRetriever(catalog, calls.run, top=2)


def test_hits_of_a_conversation_are_tools(catalog: Catalog, calls: Any) -> None:
    from kitpick.adapters.llama_index import llama_index_tools

    said = [("user", "Will it rain in Paris?"), ("assistant", "No."), ("user", "and in Berlin?")]
    messages = [{"role": role, "content": text} for role, text in said]
    (tool,) = llama_index_tools(catalog.search(messages, 1), calls.run)
    assert tool.call(city="Berlin").raw_output == {"weather": "rain"}
    assert calls.made == [("get_weather", {"city": "Berlin"})]


def test_calls_of_what_was_retrieved_are_feedback(catalog: Catalog, calls: Any) -> None:
    from kitpick.adapters.llama_index import KitpickToolRetriever

    (tool,) = KitpickToolRetriever(catalog, calls.run, client="ann", k=1).retrieve(QUERY)
    tool.call(city="Oslo")
    (silent,) = KitpickToolRetriever(catalog, calls.run, k=1).retrieve(QUERY)
    silent.call(city="Oslo")
    assert clients_that_chose(catalog) == ["ann"]


def clients_that_chose(catalog: Catalog) -> list[str]:
    """Whoever chose the weather for the request."""
    tally = catalog.intents.behind(QUERY, Filter()).get("functions/functions/get_weather")
    return [] if tally is None else list(tally.choices)


def test_a_tool_is_called_only_once_it_was_offered_by_its_retriever(catalog: Catalog, calls: Any) -> None:
    """An agent asks for a tool by its name right before it calls it."""
    from kitpick.adapters.llama_index import KitpickToolRetriever

    retriever = KitpickToolRetriever(catalog, calls.run, client="ann", k=1)
    (name,) = [tool.metadata.name for tool in KitpickToolRetriever(catalog, calls.run, k=1).retrieve(QUERY)]
    assert name not in [tool.metadata.name for tool in retriever.retrieve(name)]
    assert name not in [tool.metadata.name for tool in asyncio.run(retriever.aretrieve(name))]
    retriever.retrieve(QUERY)
    for again in (retriever.retrieve(name), asyncio.run(retriever.aretrieve(name))):
        assert [tool.metadata.name for tool in again] == [name]
    again[0].call(city="Oslo")
    assert clients_that_chose(catalog) == ["ann"], "the answer to the request, not to the name"


def test_a_function_agent_calls_what_was_retrieved(catalog: Catalog, calls: Any) -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    from kitpick.adapters.llama_index import KitpickToolRetriever

    offered: list[list[str]] = []

    class Calling(MockFunctionCallingLLM):
        async def astream_chat_with_tools(self, tools: Any, **given: Any) -> Any:
            offered.append([tool.metadata.name for tool in tools])
            return await super().astream_chat_with_tools(tools, **given)

    retriever = KitpickToolRetriever(catalog, calls.arun, k=2)
    agent = FunctionAgent(llm=Calling(), tool_retriever=retriever, tools=[], streaming=True)

    async def ask() -> None:
        await agent.run(QUERY)

    asyncio.run(ask())
    assert offered
    assert "get_weather_" in offered[0][0]


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    from llama_index.core.base.llms.types import ToolCallBlock
    from llama_index.core.llms import ChatMessage, MockFunctionCallingLLM

    offered: list[list[str]] = []

    def scripted(messages: Any, tools: Any = (), **given: Any) -> ChatMessage:
        offered.append([tool.metadata.name for tool in tools])
        if messages[-1].role == "tool":
            return ChatMessage("It will rain.", role="assistant")
        call = ToolCallBlock(tool_call_id="1", tool_name=page_weather, tool_kwargs={"city": "Paris"})
        return ChatMessage(role="assistant", blocks=[call])

    names = five_minutes("LlamaIndex", model=MockFunctionCallingLLM(response_generator=scripted))
    assert page_weather in offered[0]
    tallies = names["catalog"].intents.behind(names["request"], Filter()).values()
    assert [list(each.choices) for each in tallies if each.choices] == [["ann"]]
