"""Haystack's own pipelines with a retriever in them."""

from __future__ import annotations

from typing import Any

import pytest

from kitpick.adapters.errors import InvalidArguments
from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_ingest.opening import open_source

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Lisbon?"
OURS = ["kitpick.adapters.haystack"]


def test_a_retriever_gives_documents_with_definitions(catalog: Catalog) -> None:
    from haystack import Pipeline

    from kitpick.adapters.haystack import KitpickApiRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", KitpickApiRetriever(catalog.engine.url, top_k=3))
    pipeline = Pipeline.loads(pipeline.dumps(), allowed_modules=OURS)
    found = pipeline.run({"retriever": {"query": QUERY}})["retriever"]["documents"]
    assert len(found) == 3
    assert found[0].id.endswith("/get_weather")
    assert found[0].meta["definition"]["function"]["parameters"]["required"] == ["city"]
    fewer = pipeline.run({"retriever": {"query": QUERY, "top_k": 1}})["retriever"]["documents"]
    assert [document.id for document in fewer] == [found[0].id]
    pipeline.get_component("retriever").close()


def test_a_follow_up_is_searched_with_the_conversation_before_it(catalog: Catalog) -> None:
    from haystack.dataclasses import ChatMessage, ToolCall

    from kitpick.adapters.haystack import KitpickApiRetriever

    call = ToolCall("get_weather", {"city": "Paris"}, id="1")
    messages = [
        ChatMessage.from_user("Will it rain in Paris?"),
        ChatMessage.from_assistant(tool_calls=[call]),
        ChatMessage.from_tool("no", origin=call),
        ChatMessage.from_assistant("No, it stays dry."),
        ChatMessage.from_user("and in Berlin?"),
    ]
    retriever = KitpickApiRetriever(catalog.engine.url, top_k=1)
    try:
        (found,) = retriever.run("and in Berlin?", messages=messages)["documents"]
        assert found.meta["api"] == "get_weather"
        (alone,) = retriever.run("send an email", messages=[])["documents"]
        assert alone.meta["api"] == "send_email"
    finally:
        retriever.close()


def test_principals_come_with_the_component_or_with_the_request(
    settings: Settings, functions_file: Any
) -> None:
    from kitpick.adapters.haystack import KitpickApiRetriever

    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
    retriever = KitpickApiRetriever()
    assert retriever.run(QUERY)["documents"] == []
    assert retriever.run(QUERY, filters={"principals": ["staff"]})["documents"]
    retriever.close()
    staff = KitpickApiRetriever(filters={"principals": ["staff"]})
    assert staff.run(QUERY)["documents"]
    staff.close()
    with pytest.raises(InvalidArguments, match="principal"):
        KitpickApiRetriever(filters={"principal": ["staff"]})


def test_hits_are_tools_that_an_agent_calls(catalog: Catalog, calls: Any, model: Any) -> None:
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage

    from kitpick.adapters.haystack import haystack_tools

    tools = haystack_tools(catalog.search("will it rain in Paris?", k=2), calls.run)
    agent = Agent(chat_generator=OpenAIChatGenerator(), tools=tools)
    answer = agent.run(messages=[ChatMessage.from_user("will it rain in Paris?")])
    assert answer["messages"][-1].text == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str, model: Any) -> None:
    five_minutes("Haystack")
    assert model.bodies[0]["tools"][0]["function"]["name"] == page_weather
