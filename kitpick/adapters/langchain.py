"""LangChain: a retriever of APIs, and hits as tools to bind."""

from __future__ import annotations

from typing import Any

from kitpick.adapters.errors import InvalidArguments, needing
from kitpick.adapters.retrieval import RetrievalArguments, described
from kitpick.adapters.tools import CallableTool, Run, callable_tools
from kitpick.catalog import Catalog
from kitpick.conversation import Messages
from kitpick.result import Depth, SearchResult
from kitpick_engines.contract import Filter

with needing("langchain"):
    from langchain_core.callbacks import (
        AsyncCallbackManagerForRetrieverRun,
        CallbackManagerForRetrieverRun,
    )
    from langchain_core.documents import Document
    from langchain_core.messages import convert_to_openai_messages
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.tools import StructuredTool
    from pydantic import ConfigDict


class KitpickRetriever(BaseRetriever):
    """APIs of a catalog as documents, with definitions to bind under `metadata["definition"]`.

    Every field but `catalog` can be given anew with a request: `retriever.invoke(request, k=3, filter=…)`. So
    can the conversation that ends with the request, `messages=[…]`: LangChain's messages, or dictionaries.

    Raises (from `invoke`):
        InvalidArguments, EmptyCatalog, EngineError, RescorerError: as `Catalog.search`; LangChain's own
            `with_fallbacks` and `with_retry` apply.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    catalog: Catalog
    k: Depth = 5
    budget: int | None = None
    filter: Filter = Filter()
    profile: str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        **asked: Any,  # noqa: ANN401 - checked by RetrievalArguments
    ) -> list[Document]:
        said = _conversation(asked.pop("messages", None)) or query
        return _documents(self._arguments(asked).search(self.catalog, said))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **asked: Any,  # noqa: ANN401 - checked by RetrievalArguments
    ) -> list[Document]:
        said = _conversation(asked.pop("messages", None)) or query
        return _documents(await self._arguments(asked).asearch(self.catalog, said))

    def _arguments(self, asked: dict[str, Any]) -> RetrievalArguments:
        usual = RetrievalArguments.of(k=self.k, budget=self.budget, filter=self.filter, profile=self.profile)
        return usual.changed(asked)


def langchain_tools(result: SearchResult, run: Run) -> list[StructuredTool]:
    """The hits as tools for `model.bind_tools` or an agent; `run` gets the API and its arguments."""
    return [structured_tool(tool) for tool in callable_tools(result, run)]


def _conversation(messages: Any) -> Messages:  # noqa: ANN401 - whatever LangChain takes for messages
    """Messages in the form of chat completions; none where none are given."""
    try:
        said = convert_to_openai_messages(messages or [])
    except (ValueError, TypeError, NotImplementedError) as error:
        raise InvalidArguments(f"messages: {error}") from error
    return said if isinstance(said, list) else [said]


def _documents(result: SearchResult) -> list[Document]:
    return [Document(id=hit.id, page_content=hit.text, metadata=hit.metadata) for hit in described(result)]


def structured_tool(tool: CallableTool) -> StructuredTool:
    """A tool as LangChain holds it."""
    return StructuredTool(
        name=tool.name,
        description=tool.description,
        args_schema=tool.schema,
        func=None if tool.is_async else tool.function,
        coroutine=tool.function if tool.is_async else None,
        metadata={"id": tool.document.id},
    )
