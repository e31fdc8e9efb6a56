"""Hits as tools that a framework can call: name, schema, and the way back to the API that is meant."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from kitpick.adapters.errors import AsyncRun
from kitpick.result import SearchResult
from kitpick_engines.document import ApiDocument
from kitpick_ingest.definitions import render_definitions, sent_arguments

Run = Callable[[ApiDocument, dict[str, Any]], Any]
"""Calls an API with the arguments that a model gave, under the names that the API knows; may be async."""


class CallableTool(msgspec.Struct, frozen=True):
    """One hit, ready to be called."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON Schema of the arguments."""
    strict: bool
    """Whether its publisher asked for strict arguments."""
    document: ApiDocument
    run: Run

    def start(self, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the API gives
        """What `run` gives: an awaitable where it is async."""
        return self.run(self.document, sent_arguments(self.document, arguments))

    def call(self, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the API gives
        """What the API gives back.

        Raises:
            AsyncRun: `run` has to be awaited.
        """
        return _there(self.start(arguments))

    async def acall(self, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever the API gives
        """What the API gives back. A `run` that is not async blocks the loop: see `call_beside`."""
        return await _awaited(self.start(arguments))

    @property
    def function(self) -> Callable[..., Any]:
        """A function that takes the arguments by keyword; async where `run` is."""

        def call(**arguments: Any) -> Any:  # noqa: ANN401 - as the API takes and gives
            return self.call(arguments)

        async def acall(**arguments: Any) -> Any:  # noqa: ANN401 - as the API takes and gives
            return await self.acall(arguments)

        return acall if self.is_async else call

    @property
    def is_async(self) -> bool:
        """Whether `run` is an async function."""
        return is_async(self.run)


class OwnTool(msgspec.Struct, frozen=True):
    """A tool of the agent itself, which is in no catalog."""

    definition: dict[str, Any]
    """As the provider takes it; sent as it is."""
    run: Callable[[dict[str, Any]], Any]
    """Takes the arguments that the model gave; may be async."""

    @property
    def name(self) -> str:
        """What the model calls it; empty where the definition has none."""
        name = self.definition.get("name")
        return name if isinstance(name, str) else ""

    def start(self, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever it gives
        """What `run` gives: an awaitable where it is async."""
        return self.run(dict(arguments))

    def call(self, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever it gives
        """What `run` gives back.

        Raises:
            AsyncRun: it has to be awaited.
        """
        return _there(self.start(arguments))

    @property
    def is_async(self) -> bool:
        """Whether `run` is an async function."""
        return is_async(self.run)


def is_async(run: Callable[..., Any]) -> bool:
    """Whether it is an async function, or an object whose `__call__` is one."""
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__)


async def call_beside(tool: CallableTool | OwnTool, arguments: Mapping[str, Any]) -> Any:  # noqa: ANN401 - as above
    """What a call gives back, without blocking the loop: what is not async runs in a worker thread."""
    if tool.is_async:
        return await _awaited(tool.start(arguments))
    return await _awaited(await asyncio.to_thread(tool.start, arguments))


async def answered_beside(tool: CallableTool | OwnTool, arguments: Mapping[str, Any]) -> tuple[str, bool]:
    """What a model reads of a call, as `call_beside`, and whether it failed: what it raises is said."""
    try:
        return as_text(await call_beside(tool, arguments)), False
    except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
        return f"{type(error).__name__}: {error}", True


async def _awaited(result: Any) -> Any:  # noqa: ANN401 - as above
    return await result if isinstance(result, Awaitable) else result


def _there(result: Any) -> Any:  # noqa: ANN401 - as above
    """What a call gave, if it does not have to be awaited."""
    if not isinstance(result, Awaitable):
        return result
    if inspect.iscoroutine(result):
        result.close()
    raise AsyncRun


def callable_tools(result: SearchResult, run: Run) -> list[CallableTool]:
    """The hits as tools, best first. Names and schemas are those of `SearchResult.definitions`."""
    return _tools([hit.document for hit in result.hits], result.definitions("openai"), run)


def tools_of(documents: Sequence[ApiDocument], run: Run) -> list[CallableTool]:
    """Documents as tools with their whole definitions, in the same order."""
    return _tools(documents, render_definitions(documents, "openai"), run)


def _tools(
    documents: Sequence[ApiDocument], definitions: Sequence[dict[str, Any]], run: Run
) -> list[CallableTool]:
    functions = [definition["function"] for definition in definitions]
    return [
        CallableTool(
            function["name"],
            function.get("description", ""),
            function["parameters"],
            function.get("strict") is True,
            document,
            run,
        )
        for document, function in zip(documents, functions, strict=True)
    ]


def as_text(value: object) -> str:
    """What a model reads of a result: text as it is, everything else as JSON, or else in Python's words."""
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError):
        return str(value)
