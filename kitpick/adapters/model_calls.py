"""Calls that a model makes to tools or to its search, and the answers to them."""

from __future__ import annotations

from typing import Any

import msgspec

from kitpick.adapters.errors import AsyncRun
from kitpick.adapters.tools import CallableTool, OwnTool, answered_beside, as_text
from kitpick_foundation.decoding import convert_to, decode_as
from kitpick_rescorers.search import SearchHit


class ModelCall(msgspec.Struct, frozen=True):
    """A tool that the model calls, or its search."""

    id: str
    name: str
    arguments: Any
    loaded: frozenset[str]
    """Names of tools that it can call at this point of the conversation."""
    is_search: bool = False
    searches: tuple[str, ...] = ()
    """Ids of the calls of the search before it, the oldest first."""
    refused: str = ""
    namespace: str = ""
    """Where the model says the tool is; empty where it does not say."""

    @property
    def said(self) -> str:
        """The tool in the model's words, at most 100 characters."""
        return (f"{self.namespace}.{self.name}" if self.namespace else self.name)[:100]


class CallAnswer(msgspec.Struct, frozen=True):
    """What is sent back for one call."""

    call: ModelCall
    text: str = ""
    failed: bool = False
    found: tuple[SearchHit, ...] | None = None
    """Tools that a search found; None for any other call."""


class ReadyCall(msgspec.Struct, frozen=True):
    """A call that may run."""

    call: ModelCall
    tool: CallableTool | OwnTool
    arguments: dict[str, Any]


def run_call(ready: ReadyCall) -> CallAnswer:
    """Runs it; what it raises is the answer.

    Raises:
        AsyncRun: it has to be awaited.
    """
    try:
        return CallAnswer(ready.call, as_text(ready.tool.call(ready.arguments)))
    except AsyncRun:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the API raises, the conversation goes on
        return CallAnswer(ready.call, f"{type(error).__name__}: {error}", failed=True)


async def arun_call(ready: ReadyCall) -> CallAnswer:
    """`run_call` without blocking the loop; what has to be awaited is."""
    return CallAnswer(ready.call, *await answered_beside(ready.tool, ready.arguments))


def decoded_arguments(given: Any) -> dict[str, Any]:  # noqa: ANN401 - whatever a model gave
    """The arguments of a call: an object, or its JSON.

    Raises:
        MsgspecError: they are something else.
    """
    if isinstance(given, str):
        return decode_as(given or "{}", dict[str, Any])
    return convert_to(given if given is not None else {}, dict[str, Any])
