"""A model calls a tool that it was never offered: every framework says so, and no API is called."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick_engines.document import ApiDocument
from kitpick_ingest.function_names import function_name

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "will it rain in Paris?"
NEVER = "delete_everything"


def test_anthropics_tool_runner_tells_the_model(catalog: Catalog, calls: Any, model: Any) -> None:
    import anthropic

    from kitpick.adapters.anthropic import runnable_tools

    model.script = [[{"type": "tool_use", "id": "1", "name": NEVER, "input": {}}]]
    with anthropic.Anthropic() as client:
        final = client.beta.messages.tool_runner(
            model="m",
            max_tokens=100,
            messages=[{"role": "user", "content": QUERY}],
            tools=runnable_tools(catalog.search(QUERY, 2), calls.run),
        ).until_done()
    assert final.content[0].text == "It will rain."
    (answer,) = model.bodies[1]["messages"][-1]["content"]
    assert answer["is_error"]
    assert NEVER in answer["content"]
    assert calls.made == []


def test_openais_agents_end_the_run(catalog: Catalog, calls: Any, model: Any) -> None:
    from agents import Agent, ModelBehaviorError, OpenAIProvider, RunConfig, Runner

    from kitpick.adapters.openai_agents import agent_tools

    call = {"type": "function_call", "id": "f", "call_id": "1", "name": NEVER, "arguments": "{}"}
    model.script = [[call]]
    agent = Agent(name="a", model="m", tools=agent_tools(catalog.search(QUERY, 2), calls.arun))

    async def ask() -> None:
        config = RunConfig(model_provider=OpenAIProvider(), tracing_disabled=True)
        await Runner.run(agent, QUERY, run_config=config)

    with pytest.raises(ModelBehaviorError, match=NEVER):
        asyncio.run(ask())
    assert calls.made == []


def test_haystacks_agent_does_not_call_it(catalog: Catalog, calls: Any, model: Any) -> None:
    from haystack.components.agents import Agent
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage

    from kitpick.adapters.haystack import haystack_tools

    function = {"name": NEVER, "arguments": json.dumps({})}
    call = {"id": "1", "type": "function", "function": function}
    model.script = [[{"role": "assistant", "content": None, "tool_calls": [call]}]]
    tools = haystack_tools(catalog.search(QUERY, 2), calls.run)
    agent = Agent(chat_generator=OpenAIChatGenerator(), tools=tools)
    answer = agent.run(messages=[ChatMessage.from_user(QUERY)])
    (told,) = [each.tool_call_result for each in answer["messages"] if each.tool_call_result]
    assert told.error
    assert NEVER in told.result
    assert calls.made == []


def test_llama_indexs_agent_does_not_find_it_by_its_name(catalog: Catalog, calls: Any) -> None:
    from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
    from llama_index.core.llms import MockFunctionCallingLLM
    from llama_index.core.tools import ToolSelection

    from kitpick.adapters.llama_index import KitpickToolRetriever

    key = "functions/functions/delete_file"
    hidden = function_name(ApiDocument(key, "functions", "", "functions", "delete_file"))

    class Calling(MockFunctionCallingLLM):
        def get_tool_calls_from_response(self, *given: Any, **also: Any) -> list[ToolSelection]:
            asked.append(hidden)
            wanted = [ToolSelection(tool_id="1", tool_name=hidden, tool_kwargs={})]
            return wanted if len(asked) == 1 else []

    asked: list[str] = []
    retriever = KitpickToolRetriever(catalog, calls.arun, k=1)
    agent = FunctionAgent(llm=Calling(), tool_retriever=retriever, tools=[], streaming=False)

    async def ask() -> list[ToolCallResult]:
        run = agent.run(QUERY)
        told = [event async for event in run.stream_events() if isinstance(event, ToolCallResult)]
        await run
        return told

    (told,) = asyncio.run(ask())
    assert told.tool_output.is_error
    assert hidden in told.tool_output.content
    assert calls.made == []
