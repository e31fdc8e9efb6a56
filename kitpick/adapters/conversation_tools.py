"""Tools of a conversation, for frameworks without a tool search of their own: the search, and what it found.

What is loaded is read from the conversation: each answer of the search carries the ids of what it found. So
one object serves many conversations, and a restart loses nothing. Found tools are appended, bounded in
tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from kitpick.adapters.deferral import SEARCH
from kitpick.adapters.feedback import reporting
from kitpick.adapters.tools import CallableTool, Run, tools_of
from kitpick.capabilities import CapabilityArguments, arguments_schema, no_tool_fits
from kitpick.catalog import Catalog
from kitpick.exposure import MOST_TOKENS, Exposure
from kitpick.result import Depth
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument
from kitpick_foundation.decoding import convert_to
from kitpick_foundation.errors import KitpickError
from kitpick_rescorers.intents.answers import JOINT, answer_ids

DESCRIPTION = (
    "Finds tools. Search before you say that something cannot be done, with one short capability for each "
    "step. What is found can be called from then on."
)
_NOBODY = Filter()
_NO_ANSWERS: Mapping[str, str] = {}
MAX_FINDINGS = 200
"""Answers of the search in one conversation that are looked at: the latest."""


SEARCH_SCHEMA: dict[str, Any] = arguments_schema(CapabilityArguments)
"""JSON Schema of what the search takes."""


class Findings(msgspec.Struct, frozen=True):
    """An answer of the search: what the model reads, and what the conversation keeps."""

    text: str
    ids: tuple[str, ...] = ()
    """Ids of the tools that can be called from now on."""
    answer: str = ""
    """Names the answer in `Catalog.feedback`."""

    def kept(self) -> dict[str, Any]:
        """As a framework stores it beside the message."""
        return {"kitpick": list(self.ids), "answer": self.answer}


class ConversationTools:
    """The search over a catalog, and the tools that it found in a conversation."""

    def __init__(
        self,
        catalog: Catalog,
        run: Run,
        *,
        k: Depth = 5,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | None = None,
        most: int = MOST_TOKENS,
    ) -> None:
        """Takes what calls an API, who asks, and how many tokens definitions of found tools may take."""
        self._catalog = catalog
        self._run = run
        self._filter = filter
        self._most = most
        self._client: str | None = None
        self._k = k
        self._search = partial(catalog.search, filter=filter, profile=profile)

    def reporting(self, client: str) -> ConversationTools:
        """The same, with feedback in the name of a client: calls are chosen, or failed where `run` raises."""
        other = copy(self)
        other._client = client
        return other

    def search(self, arguments: Any) -> Findings:  # noqa: ANN401 - whatever a model gave
        """Finds tools; what is wrong is said to the model."""
        try:
            wanted = convert_to(arguments, CapabilityArguments)
            steps = wanted.search(self._search, self._k)
        except (msgspec.ValidationError, KitpickError) as error:
            return Findings(f"the search failed: {error}")
        hits = steps.joint
        if not hits:
            return Findings(no_tool_fits(steps))
        names = ", ".join(tool.name for tool in self._tools([hit.document for hit in hits]))
        missing = f"; nothing fits: {'; '.join(steps.unmatched)}" if steps.unmatched else ""
        answer = JOINT.join(step.result.id for step in steps.steps if step.result.id)
        return Findings(f"loaded: {names}{missing}", tuple(hit.id for hit in hits), answer)

    def loaded(self, kept: Iterable[object]) -> list[CallableTool]:
        """What can be called, in the order in which it was found.

        Documents are read again, with the filter: what was taken away meanwhile is not there.

        Args:
            kept: what `Findings.kept` gave, as the conversation holds it, the oldest first; anything else in
                it is passed over.
        """
        findings = [found for each in kept if (found := _findings(each)).ids][-MAX_FINDINGS:]
        answers = {key: found.answer for found in findings for key in found.ids}
        documents = {
            document.id: document for document in self._catalog.engine.fetch(list(answers), self._filter)
        }
        shown = Exposure(most=self._most)
        for found in findings:
            shown.show([documents[key] for key in found.ids if key in documents])
        return self._tools(shown.shown, answers)

    def _tools(
        self, documents: Sequence[ApiDocument], answers: Mapping[str, str] = _NO_ANSWERS
    ) -> list[CallableTool]:
        return [
            replace(tool, run=self._calling(answers.get(tool.document.id, "")))
            for tool in tools_of(documents, self._run)
        ]

    def _calling(self, answer: str) -> Run:
        """The function that calls an API; in the name of a client, it also reports feedback."""
        if self._client is None:
            return self._run
        return reporting(self._run, self._catalog, answer, client=self._client, filter=self._filter)


def _findings(kept: object) -> Findings:
    """What a conversation kept; without ids where it is something else."""
    given = kept if isinstance(kept, dict) else {}
    ids, answer = given.get("kitpick"), given.get("answer")
    return Findings(
        "",
        tuple(key for key in ids if isinstance(key, str)) if isinstance(ids, list) else (),
        answer if isinstance(answer, str) and answer_ids(answer) else "",
    )


__all__ = ["DESCRIPTION", "SEARCH", "SEARCH_SCHEMA", "ConversationTools", "Findings"]
