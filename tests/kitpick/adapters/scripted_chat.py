"""A chat model of LangChain that says what a test wrote down."""

from __future__ import annotations

from typing import Any


def scripted(*turns: Any) -> tuple[Any, list[list[str]]]:
    """A chat model that says these messages, and the names of the tools that it was offered in each turn."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

    offered: list[list[str]] = []

    class Model(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **more: Any) -> Any:
            offered.append([tool.name for tool in tools])
            return self

    return Model(messages=iter(turns)), offered


def call(name: str, **arguments: Any) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage("", tool_calls=[{"id": name, "name": name, "args": arguments}])


def final(text: str) -> Any:
    from langchain_core.messages import AIMessage

    return AIMessage(text)


def ask(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}
