"""The Agents SDK, running against a model on a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.adapters.offered_tools import OfferedTools
from kitpick.catalog import Catalog
from kitpick.settings import Settings

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "clients"),
    pytest.mark.filterwarnings("ignore"),
]
QUERY = "What will the weather be like in Paris?"


@pytest.fixture
def offered(settings: Settings) -> Iterator[OfferedTools]:
    tools = OfferedTools(settings)
    yield tools
    tools.close()


@pytest.fixture
def run_agent(model: Any) -> Any:
    """Runs an agent once, with a client of its own for the loop of this run."""
    from agents import OpenAIProvider, RunConfig, Runner

    def ask(agent: Any, request: str, context: Any = None) -> Any:
        async def asked() -> Any:
            config = RunConfig(model_provider=OpenAIProvider(), tracing_disabled=True)
            return await Runner.run(agent, request, context=context, run_config=config)

        return asyncio.run(asked())

    return ask


def test_an_agent_calls_the_api_that_was_found(
    catalog: Catalog, calls: Any, model: Any, run_agent: Any
) -> None:
    from agents import Agent

    from kitpick.adapters.openai_agents import agent_tools

    tools = agent_tools(catalog.search(QUERY, 2), calls.arun)
    result = run_agent(Agent(name="a", model="m", tools=tools), QUERY)
    assert result.final_output == "It will rain."
    assert calls.made == [("get_weather", {"city": "Paris"})]
    sent = model.bodies[0]["tools"]
    assert [tool["name"] for tool in sent] == [tool.name for tool in tools]
    assert sent[0]["strict"] is False
    assert sent[0]["parameters"]["required"] == ["city"]
    (output,) = [item for item in model.bodies[1]["input"] if item.get("type") == "function_call_output"]
    assert output["output"] == '{"weather":"rain"}'


@pytest.mark.parametrize("arguments", ["{", "[1]", '"text"', "{'city': 1}"])
def test_broken_arguments_are_told_to_the_model(catalog: Catalog, calls: Any, arguments: str) -> None:
    from kitpick.adapters.openai_agents import agent_tools

    (tool,) = agent_tools(catalog.search(QUERY, 1), calls.run)
    assert "no JSON object" in asyncio.run(tool.on_invoke_tool(None, arguments))
    assert calls.made == []


def test_the_responses_definitions_are_what_the_sdk_sends(catalog: Catalog, calls: Any) -> None:
    from openai.types.responses import FunctionTool
    from pydantic import TypeAdapter

    from kitpick.adapters.openai_agents import agent_tools

    result = catalog.search(QUERY, 3)
    definitions = result.definitions("responses")
    for definition, tool in zip(definitions, agent_tools(result, calls.run), strict=True):
        read = TypeAdapter(FunctionTool).validate_python(definition)
        assert (read.name, read.parameters) == (tool.name, tool.params_json_schema)
        assert read.strict == tool.strict_json_schema


def own_tools() -> list[Any]:
    from agents import function_tool

    @function_tool
    def get_weather(city: str) -> str:
        """Current weather and forecast for a city."""
        return "rain"

    @function_tool
    def send_email(recipient: str) -> str:
        """Send an email message to a recipient."""
        return "sent"

    @function_tool
    def convert_currency(amount: float) -> str:
        """Convert an amount of money between two currencies."""
        return "1"

    @function_tool(is_enabled=False)
    def forecast_rain(city: str) -> str:
        """Forecast of rain, weather in a city."""
        return "rain"

    return [send_email, convert_currency, get_weather, forecast_rain]


def test_each_run_sees_its_own_choice_of_an_agents_tools(
    offered: OfferedTools, model: Any, run_agent: Any
) -> None:
    from agents import Agent

    from kitpick.adapters.openai_agents import enabled_for_request

    tools = enabled_for_request(own_tools(), 1, lambda run: run.context, offered)
    agent = Agent(name="a", model="m", tools=tools)
    run_agent(agent, QUERY, QUERY)
    money = "How many yen are 20 euros? Convert the money."
    run_agent(agent, money, money)
    sent = [[tool["name"] for tool in body["tools"]] for body in model.bodies]
    assert sent[0] == sent[1]
    assert "send_email" not in sent[0]
    assert "forecast_rain" not in sent[0]
    assert sent[-1] == ["convert_currency"]


def test_tools_that_cannot_be_ranked_are_all_enabled(settings: Settings, model: Any, run_agent: Any) -> None:
    from agents import Agent

    from kitpick.adapters.openai_agents import enabled_for_request

    broken = OfferedTools(replace(settings, profile="no-such-profile"))
    tools = enabled_for_request(own_tools(), 1, lambda run: run.context, broken)
    run_agent(Agent(name="a", model="m", tools=tools), QUERY, QUERY)
    broken.close()
    assert len(model.bodies[0]["tools"]) == 3


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str, model: Any) -> None:
    five_minutes("OpenAI Agents")
    assert model.bodies[0]["tools"][0]["name"] == page_weather
