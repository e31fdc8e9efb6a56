"""Tools of agent frameworks, taken into a catalog as they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kitpick_engines.document import ApiDocument, Effect, Parameter
from kitpick_ingest.sources.python_tools import PythonTools

pytestmark = [pytest.mark.needs("clients"), pytest.mark.filterwarnings("ignore")]


def get_weather(city: str) -> str:
    """The weather of a city."""
    return city


def langchain() -> object:
    from langchain_core.tools import tool

    return tool(get_weather)


def openai_agents() -> object:
    from agents import function_tool

    return function_tool(get_weather)


def llama_index() -> object:
    from llama_index.core.tools import FunctionTool

    return FunctionTool.from_defaults(get_weather)


def haystack() -> object:
    from haystack.tools import create_tool_from_function

    return create_tool_from_function(get_weather)


def anthropic() -> object:
    from anthropic import beta_tool

    return beta_tool(get_weather)


def openai() -> object:
    import openai
    from pydantic import BaseModel

    class Weather(BaseModel):
        city: str

    return openai.pydantic_function_tool(Weather, name="get_weather", description="The weather of a city.")


def document_of(tool: object) -> ApiDocument:
    (document,) = PythonTools([tool]).read()
    assert isinstance(document, ApiDocument), document
    return document


@pytest.mark.parametrize("made", [langchain, openai_agents, llama_index, haystack, anthropic, openai])
def test_a_tool_has_its_name_description_and_inputs(made: Callable[[], object]) -> None:
    document = document_of(made())
    assert document.id == "tools/tools/get_weather"
    assert "The weather of a city." in document.description
    assert document.parameters == (Parameter("city", "string", required=True),)


@pytest.mark.needs("pydantic_ai")
def test_a_tool_of_pydantic_ai() -> None:
    from pydantic_ai import Tool

    document = document_of(Tool(get_weather))
    assert (document.api, document.description) == ("get_weather", "The weather of a city.")


@pytest.mark.needs("mcp")
def test_a_tool_of_the_mcp_sdk_keeps_its_hints() -> None:
    from mcp.types import Tool

    tool = {"name": "wipe", "inputSchema": {"type": "object"}, "annotations": {"destructiveHint": True}}
    assert document_of(Tool.model_validate(tool)).effect is Effect.DESTRUCTIVE


@pytest.mark.needs("strands")
def test_a_tool_of_strands() -> None:
    from strands import tool

    assert document_of(tool(get_weather)).api == "get_weather"


@pytest.mark.needs("adk")
def test_a_tool_of_adk() -> None:
    from google.adk.tools import FunctionTool

    assert document_of(FunctionTool(get_weather)).api == "get_weather"
