"""LangChain's own interfaces over a catalog."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.adapters.errors import InvalidArguments
from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_ingest.opening import open_source

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Lisbon?"


def test_a_retriever_gives_documents_with_score_reasons_and_definition(catalog: Catalog) -> None:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    from kitpick.adapters.langchain import KitpickRetriever

    first, *rest = KitpickRetriever(catalog=catalog, k=3).invoke(QUERY)
    assert len(rest) == 2
    assert first.id.endswith("/get_weather")
    assert "Current weather" in first.page_content
    assert (first.metadata["api"], first.metadata["rank"]) == ("get_weather", 1)
    assert 0 < first.metadata["probability"] <= 1
    assert any(reason.startswith("fuse: ") for reason in first.metadata["reasons"])
    assert first.metadata["degraded"] == []
    definition = first.metadata["definition"]
    assert convert_to_openai_tool(definition) == definition


def test_each_request_may_ask_for_something_else(catalog: Catalog) -> None:
    from kitpick.adapters.langchain import KitpickRetriever

    retriever = KitpickRetriever(catalog=catalog)
    assert len(retriever.invoke(QUERY)) == 5
    assert len(retriever.invoke(QUERY, k=2)) == 2
    assert len(asyncio.run(retriever.ainvoke(QUERY, k=2, profile="bm25"))) <= 2
    tight = retriever.invoke(QUERY, budget=150)
    assert 1 <= len(tight) < 5
    with pytest.raises(InvalidArguments, match="how_many"):
        retriever.invoke(QUERY, how_many=3)
    with pytest.raises(InvalidArguments, match="k"):
        retriever.invoke(QUERY, k=-1)


def test_a_follow_up_is_searched_with_the_conversation_before_it(catalog: Catalog) -> None:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    from kitpick.adapters.langchain import KitpickRetriever

    call = {"name": "get_weather", "args": {"city": "Paris"}, "id": "1"}
    messages = [
        HumanMessage("Will it rain in Paris?"),
        AIMessage("", tool_calls=[call]),
        ToolMessage("no", tool_call_id="1"),
        AIMessage("No, it stays dry."),
        HumanMessage("and in Berlin?"),
    ]
    retriever = KitpickRetriever(catalog=catalog, k=1)
    (found,) = retriever.invoke("and in Berlin?", messages=messages)
    (also,) = asyncio.run(retriever.ainvoke("and in Berlin?", messages=messages))
    assert found.metadata["api"] == also.metadata["api"] == "get_weather"
    (alone,) = retriever.invoke("send an email", messages=[])
    assert alone.metadata["api"] == "send_email"
    with pytest.raises(InvalidArguments, match="messages"):
        retriever.invoke("x", messages=[5])


def test_principals_see_what_they_may(settings: Settings, functions_file: Any) -> None:
    from kitpick.adapters.langchain import KitpickRetriever

    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
        retriever = KitpickRetriever(catalog=catalog)
        assert retriever.invoke(QUERY) == []
        assert retriever.invoke(QUERY, filter=Filter(principals=frozenset({"staff"})))
        assert retriever.invoke(QUERY, filter={"principals": ["staff"]})


def test_an_empty_catalog_raises_and_a_fallback_takes_over(settings: Settings) -> None:
    from langchain_core.runnables import RunnableLambda

    from kitpick.adapters.langchain import KitpickRetriever
    from kitpick_rescorers.errors import EmptyCatalog

    with Catalog.open(settings=settings) as catalog:
        retriever = KitpickRetriever(catalog=catalog)
        with pytest.raises(EmptyCatalog, match="kitpick ingest"):
            retriever.invoke(QUERY)
        assert retriever.with_fallbacks([RunnableLambda(lambda _: [])]).invoke(QUERY) == []


def test_a_missing_model_is_told_in_the_metadata(
    settings: Settings, functions_file: Any, broken_model: str
) -> None:
    from kitpick.adapters.langchain import KitpickRetriever

    with Catalog.open(settings=settings) as whole:
        whole.ingest(f"functions:{functions_file}")
    without = replace(settings, cross_encoder=broken_model)
    with Catalog.open(settings=without) as catalog:
        found = KitpickRetriever(catalog=catalog).invoke(QUERY)
    assert found[0].metadata["api"] == "get_weather"
    assert any(reason.startswith("cross_encoder: ") for reason in found[0].metadata["degraded"])


def test_hits_are_tools_that_call_back(catalog: Catalog, calls: Any) -> None:
    from kitpick.adapters.langchain import langchain_tools

    result = catalog.search(QUERY, 2)
    tool, _ = langchain_tools(result, calls.run)
    assert tool.name == result.definitions("openai")[0]["function"]["name"]
    assert tool.tool_call_schema["properties"] == {"city": {"type": "string"}}
    assert tool.invoke({"city": "Lisbon"}) == {"weather": "rain"}
    asynchronous, _ = langchain_tools(result, calls.arun)
    assert asyncio.run(asynchronous.ainvoke({"city": "Rome"})) == {"weather": "rain"}
    assert calls.made == [("get_weather", {"city": "Lisbon"}), ("get_weather", {"city": "Rome"})]
