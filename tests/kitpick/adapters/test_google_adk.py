"""Google's Agent Development Kit: its own runner calls what was found."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from model_server import FINAL

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter

pytestmark = [
    pytest.mark.needs("weights", "onnxruntime", "adk"),
    pytest.mark.filterwarnings("ignore"),
]


def calling(name: str, final: str = "") -> Any:
    """A model that calls a tool, then says this, or what the tool answered."""
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_response import LlmResponse
    from google.genai import types

    class Scripted(BaseLlm):
        offered: list[list[str]] = []  # noqa: RUF012 - pydantic copies it

        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            self.offered.append(list(llm_request.tools_dict))
            last = llm_request.contents[-1].parts[-1]
            if last.function_response:
                part = types.Part(text=final or str(last.function_response.response))
            else:
                part = types.Part(function_call=types.FunctionCall(name=name, args={"city": "Paris"}))
            yield LlmResponse(content=types.Content(role="model", parts=[part]))

    return Scripted(model="scripted")


def said(model: Any, tools: Any, *requests: str) -> str:
    """The last text of a session in which the user writes these messages."""
    from google.adk.agents import LlmAgent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    async def main() -> str:
        runner = InMemoryRunner(agent=LlmAgent(name="assistant", model=model, tools=tools), app_name="test")
        session = await runner.session_service.create_session(app_name="test", user_id="ann")
        text = ""
        for request in requests:
            message = types.Content(role="user", parts=[types.Part(text=request)])
            async for event in runner.run_async(user_id="ann", session_id=session.id, new_message=message):
                text = "".join(part.text or "" for part in event.content.parts) or text
        return text

    return asyncio.run(main())


@pytest.mark.parametrize("run", ["run", "arun"])
def test_hits_are_tools(catalog: Catalog, calls: Any, weather: str, run: str) -> None:
    from kitpick.adapters.google_adk import adk_tools

    model = calling(weather)
    tools = adk_tools(catalog.search("will it rain in Paris?", k=2), getattr(calls, run))
    assert "rain" in said(model, tools, "will it rain in Paris?")
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert model.offered[0][0] == weather


def test_a_toolset_is_chosen_for_what_the_user_wrote(catalog: Catalog, calls: Any, weather: str) -> None:
    from kitpick.adapters.google_adk import KitpickAdkToolset

    model = calling(weather)
    assert "rain" in said(model, [KitpickAdkToolset(catalog, calls.run, k=1)], "will it rain in Paris?")
    assert model.offered == [[weather]] * 2


def test_a_follow_up_is_searched_with_what_it_refers_to(catalog: Catalog, calls: Any, weather: str) -> None:
    from kitpick.adapters.google_adk import KitpickAdkToolset

    alone = catalog.search("and on Friday?", 1).hits[0].document.api
    assert alone == "create_event", "the message alone would not do"
    model = calling(weather)
    tools = [KitpickAdkToolset(catalog, calls.run, k=1)]
    said(model, tools, "will it rain in Paris?", "and on Friday?")
    assert model.offered == [[weather]] * 4


def test_a_session_says_what_its_calls_took_and_brought() -> None:
    from google.genai import types

    from kitpick.adapters.google_adk import _messages
    from kitpick.held_identifiers import held_identifiers

    call = types.FunctionCall(id="1", name="search_artists", args={"market_id": "m7"})
    answer = types.FunctionResponse(id="1", name="search_artists", response={"artists": [{"id": "a17"}]})
    said = [
        types.Content(role="user", parts=[types.Part(text="Which Nina is it?")]),
        types.Content(role="model", parts=[types.Part(function_call=call)]),
        types.Content(role="user", parts=[types.Part(function_response=answer)]),
    ]
    events = [SimpleNamespace(content=content) for content in said]
    context: Any = SimpleNamespace(session=SimpleNamespace(events=events), user_content=said[0])
    held = [(each.name, each.value) for each in held_identifiers(_messages(context))]
    assert held == [("market_id", "m7"), ("artists id", "a17")]


def test_calls_of_a_toolset_are_feedback(catalog: Catalog, calls: Any, weather: str) -> None:
    from kitpick.adapters.google_adk import KitpickAdkToolset

    request = "will it rain in Paris?"
    said(calling(weather), [KitpickAdkToolset(catalog, calls.run, client="ann", k=1)], request)
    (tally,) = [each for each in catalog.intents.behind(request, Filter()).values() if each.choices]
    assert list(tally.choices) == ["ann"]


def test_what_an_api_raises_is_said_to_the_model(catalog: Catalog, weather: str) -> None:
    from kitpick.adapters.google_adk import adk_tools

    def broken(document: Any, arguments: Any) -> Any:
        raise OSError("the server is gone")

    tools = adk_tools(catalog.search("will it rain in Paris?", k=1), broken)
    assert "OSError: the server is gone" in said(calling(weather), tools, "will it rain?")


def test_a_tool_that_was_never_offered_is_not_called(catalog: Catalog, calls: Any) -> None:
    from kitpick.adapters.google_adk import adk_tools

    tools = adk_tools(catalog.search("will it rain in Paris?", k=1), calls.run)
    assert "no tool with that name" in said(calling("delete_file"), tools, "delete everything")
    assert calls.made == []


def test_the_page_for_agents_runs(five_minutes: Any, page_weather: str) -> None:
    model = calling(page_weather, "It will rain.")
    five_minutes("Google ADK", model=model)
    assert page_weather in model.offered[0]


def test_googles_client_takes_definitions_and_its_contents_are_a_conversation(
    catalog: Catalog, calls: Any, model: Any
) -> None:
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=model.url))
    contents = [types.Content(role="user", parts=[types.Part(text="will it rain in Paris?")])]
    answer: Any = None
    while answer is None or answer.function_calls:
        found = catalog.search([each.model_dump(mode="json", exclude_none=True) for each in contents], k=3)
        declared = [types.FunctionDeclaration(**one) for one in found.definitions("gemini")]
        config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=declared)])
        answer = client.models.generate_content(model="gemini", contents=contents, config=config)
        contents.append(answer.candidates[0].content)
        for call in answer.function_calls or ():
            brought = {"result": calls.run(found.called(call.name), dict(call.args))}
            part = types.Part.from_function_response(name=call.name, response=brought)
            contents.append(types.Content(role="user", parts=[part]))
    assert answer.text == FINAL
    assert calls.made == [("get_weather", {"city": "Paris"})]
    assert [len(body["tools"][0]["functionDeclarations"]) for body in model.bodies] == [3, 3]
