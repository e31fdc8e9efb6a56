"""Haystack: a retriever of APIs, to be saved in pipelines; hits as tools."""

from __future__ import annotations

from typing import Any

from kitpick.adapters.errors import needing
from kitpick.adapters.retrieval import RetrievalArguments, described
from kitpick.adapters.tools import CallableTool, Run, callable_tools
from kitpick.catalog import Catalog
from kitpick.result import SearchResult

with needing("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.dataclasses import ChatMessage
    from haystack.tools import Tool


def haystack_tools(result: SearchResult, run: Run) -> list[Tool]:
    """The hits as tools of an `Agent` or a chat generator; `run` must not be async."""
    return [_tool(tool) for tool in callable_tools(result, run)]


def _tool(tool: CallableTool) -> Tool:
    def call(**arguments: Any) -> Any:  # noqa: ANN401 - as the API takes and gives
        return tool.call(arguments)

    return Tool(
        name=tool.name,
        description=tool.description or tool.name,
        parameters=tool.schema,
        function=call,
    )


@component
class KitpickApiRetriever:
    """APIs of a catalog as documents, with definitions for a model under `meta["definition"]`."""

    def __init__(
        self,
        catalog: str | None = None,
        top_k: int = 5,
        budget: int | None = None,
        filters: dict[str, Any] | None = None,
        profile: str | None = None,
    ) -> None:
        """Opens the catalog at a URL, by default the one in the settings, when it is first needed.

        `filters` say who asks and what they want to see: `{"principals": ["staff"], "tenant": "a"}`.

        Raises:
            InvalidArguments: a filter that does not exist.
        """
        self.catalog = catalog
        self.top_k = top_k
        self.budget = budget
        self.filters = filters
        self.profile = profile
        self._arguments = RetrievalArguments.of(k=top_k, budget=budget, filter=filters, profile=profile)
        self._opened: Catalog | None = None

    def warm_up(self) -> None:
        """Opens the catalog; raises as `Catalog.open`."""
        if self._opened is None:
            self._opened = Catalog.open(self.catalog)

    def close(self) -> None:
        """Closes the catalog."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def to_dict(self) -> dict[str, Any]:
        """What a saved pipeline holds."""
        saved: dict[str, Any] = default_to_dict(
            self,
            catalog=self.catalog,
            top_k=self.top_k,
            budget=self.budget,
            filters=self.filters,
            profile=self.profile,
        )
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KitpickApiRetriever:
        """The component that a saved pipeline describes."""
        made: KitpickApiRetriever = default_from_dict(cls, data)
        return made

    @component.output_types(documents=list[Document], degraded=list[str])
    def run(
        self,
        query: str,
        top_k: int | None = None,
        budget: int | None = None,
        filters: dict[str, Any] | None = None,
        messages: list[ChatMessage] | None = None,
    ) -> dict[str, Any]:
        """The best APIs for a request; what is given here beats what the component was made with.

        With the messages of a conversation, its last request is searched with what it refers to, in place of
        the query.

        Raises:
            InvalidArguments, EmptyCatalog, EngineError, RescorerError: as `Catalog.search`.
        """
        self.warm_up()
        assert self._opened is not None
        arguments = self._arguments.changed({"k": top_k, "budget": budget, "filter": filters})
        said = [each.to_openai_dict_format(require_tool_call_ids=False) for each in messages or ()]
        result = arguments.search(self._opened, said or query)
        documents = [
            Document(id=hit.id, content=hit.text, meta=hit.metadata, score=hit.score)
            for hit in described(result)
        ]
        return {
            "documents": documents,
            "degraded": [f"{item.stage}: {item.reason}" for item in result.degraded],
        }
