"""Facets: ways to divide requests into subsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.dataset import JudgedQuery

FACETS = ("subset", "kind", "seen", "relevant", "category")
"""The dataset's own; single or multi; were the tools trained on; number of APIs needed; category."""

_MANY = 4


class Facets:
    """Facets of requests, from the documents of the relevant APIs.

    `is_seen` says whether the reranker was trained on a tool (key); None where there is no reranker.
    """

    def __init__(
        self, documents: Iterable[ApiDocument], is_seen: Callable[[str], bool] | None = None
    ) -> None:
        self._known = {document.id: (document.tool_key, document.category) for document in documents}
        self._is_seen = is_seen

    def tool(self, document_id: str) -> str:
        """The tool key of an API, its own id where it is not known."""
        return self._known.get(document_id, (document_id, ""))[0]

    def kind(self, query: JudgedQuery) -> str:
        """`single` if one tool has all relevant APIs, else `multi`."""
        first, *others = ({self.tool(api) for api in group} for group in query.needed)
        return "single" if first.intersection(*others) else "multi"

    def of(self, query: JudgedQuery) -> Mapping[str, tuple[str, ...]]:
        """Facet → the subsets that the request belongs to: several only for `category`."""
        relevant = len(query.needed)
        found = {
            "subset": (query.subset,),
            "kind": (self.kind(query),),
            "relevant": (str(relevant) if relevant < _MANY else f"{_MANY}+",),
            "category": tuple(
                sorted({self._known.get(api, ("", ""))[1] or "(none)" for api in query.relevant})
            ),
        }
        if self._is_seen is not None:
            found["seen"] = (self._seen(query),)
        return found

    def _seen(self, query: JudgedQuery) -> str:
        assert self._is_seen is not None
        seen = {self._is_seen(self.tool(api)) for api in query.relevant}
        return "mixed" if len(seen) > 1 else ("seen" if seen == {True} else "unseen")
