"""The answer to a request: the tools found, and how sure, how complete and how degraded the answer is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_foundation.visible import printable
from kitpick_ingest.definitions import DefinitionFormat, render_definitions, slim_definition
from kitpick_ingest.function_names import documents_by_name, function_names
from kitpick_ingest.namespaces import in_namespaces
from kitpick_rescorers.request import Hit
from kitpick_rescorers.search import SearchHit, SearchOutcome
from kitpick_rescorers.stages.complete import Linked, Links, PlannedCall, plan
from kitpick_rescorers.state import Degradation, HeldIdentifier, QueryKindEstimate, StageTrace

Depth = int | Literal["auto"]
"""How many hits at most; "auto": as many as a request is expected to need."""
_SHOWN = 60
"""Characters of a description in a table."""
UNLIKELY = 0.08
"""An answer whose surest hit is less likely is called unlikely; `scripts/bench refusals` counts them."""
ToolSearchProvider = Literal["anthropic", "openai", "openai-namespaces"]
"""Whose tool search accepts the answers of another one; OpenAI's takes functions alone or in namespaces."""


class NextStep(msgspec.Struct, frozen=True):
    """An API that can be called with what the answer of another holds."""

    document: ApiDocument
    input: str
    """The input that the answer fills."""
    confidence: float
    """How likely it fits, in [0, 1]."""
    lacks: tuple[str, ...] = ()
    """Inputs that must be found, which neither that answer nor the conversation fills."""


def lacking(called: Linked, taker: Linked, held: Sequence[HeldIdentifier]) -> tuple[str, ...]:
    """Inputs that an API needs, which neither the answer of another one nor the conversation fills."""
    links = Links([called], held=held, making=True)
    filled = {flow.wanted for flow in links.into(taker)}
    return tuple(need.input for need in links.open_needs(taker) if need.input not in filled)


class SearchResult(msgspec.Struct, frozen=True):
    """The best APIs for a request, in order; a sequence of its hits (`result[0]`, `len(result)`).

    `msgspec.json.encode(result)` writes it as JSON, `print(result)` as a short table.
    """

    profile: str
    """Name of the profile that ranked."""
    hits: tuple[SearchHit, ...]
    """The best first; fewer than asked for where the caller may see no more."""
    query_kind: QueryKindEstimate | None
    """Whether one tool or several are wanted, with the probability of several; None if no stage decided."""
    abstained: bool
    """Nothing in the catalog is likely to do the job; the hits are the nearest there is."""
    abstained_because: str
    """Which stage said so, and why; empty where it did not abstain."""
    degraded: tuple[Degradation, ...]
    """What could not be done, and why; empty for a full answer."""
    timings: Mapping[str, float]
    """Milliseconds by step."""
    trace: tuple[StageTrace, ...] = ()
    """What each stage did to the list."""
    slimmed: frozenset[str] = frozenset()
    """Ids of hits whose definitions come without most of their prose, to fit into the budget."""
    unmatched: tuple[str, ...] = ()
    """Sentences of the request that nothing in the catalog resembles."""
    held: tuple[HeldIdentifier, ...] = ()
    """Identifiers that the conversation held."""
    id: str = ""
    """Names this answer in `Catalog.feedback`; equal answers to the same callers have the same id."""

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)

    def __getitem__(self, place: int) -> SearchHit:
        return self.hits[place]

    @classmethod
    def of(cls, profile: str, outcome: SearchOutcome) -> SearchResult:
        """The result of a search with the profile of this name."""
        rescored = outcome.rescored
        return cls(
            profile=profile,
            hits=outcome.hits,
            query_kind=rescored.query_kind,
            abstained=rescored.abstained,
            abstained_because=rescored.abstained_because,
            degraded=outcome.degraded,
            timings=outcome.timings,
            trace=rescored.trace,
            slimmed=outcome.slimmed,
            unmatched=outcome.unmatched,
        )

    def definitions(self, format: DefinitionFormat) -> list[dict[str, Any]]:  # noqa: A002
        """The hits as tool definitions to hand to a language model: those of an abstained answer too."""
        whole = render_definitions(self._documents, format)
        return [
            slim_definition(definition) if hit.document.id in self.slimmed else definition
            for hit, definition in zip(self.hits, whole, strict=True)
        ]

    def references(self, provider: ToolSearchProvider) -> list[dict[str, Any]]:
        """The hits as a provider's own tool search answers them, best first.

        Anthropic: `tool_reference` blocks, the whole content of a `tool_result`. Each name must have its
        definition, with `defer_loading`, among the tools of the request. OpenAI: the `tools` of a
        `tool_search_output`, which brings the definitions along; with namespaces, each inside that of its
        tool, the namespace of the best first. `kitpick.adapters.deferral` does the rest.
        """
        if provider == "anthropic":
            return [{"type": "tool_reference", "tool_name": name} for name in function_names(self._documents)]
        functions = [definition | {"defer_loading": True} for definition in self.definitions("responses")]
        return in_namespaces(self._documents, functions) if provider == "openai-namespaces" else functions

    @property
    def unlikely(self) -> str:
        """Why nothing here is likely to do the job; empty if something is.

        It is given for an answer that abstained, and for one whose surest hit is hardly ever right. A request
        in a language that the models hardly read is not judged.
        """
        return self.abstained_because or unlikely_because(self.hits, self.degraded)

    @property
    def plan(self) -> tuple[PlannedCall, ...]:
        """The hits in an order that can be executed, each with the inputs that earlier ones fill.

        Identifiers that the conversation holds by name fill inputs too; then no other hit has to give them.
        """
        return plan(self._documents, held=self.held)

    def called(self, name: str) -> ApiDocument:
        """The API that a model means when it calls a function of `definitions` by its name.

        Raises:
            KeyError: none of the hits has that name.
        """
        named = documents_by_name(self._documents)
        if name not in named:
            raise KeyError(f"no hit is called {name!r}: `definitions` calls them {', '.join(named)}")
        return named[name]

    def __str__(self) -> str:
        """A short table: position, API, how sure it is, and the beginning of its description."""
        why = self.unlikely
        first = [f"Nothing here is likely to do that: {why}"] if why else []
        names = [f"{hit.document.tool}: {hit.document.api}" for hit in self.hits]
        width = max(map(len, names), default=0)
        rows = [
            f"{position:>3}  {name:<{width}}  {_percent(hit):>4}  {_beginning(hit.document)}".rstrip()
            for position, (name, hit) in enumerate(zip(names, self.hits, strict=True), start=1)
        ]
        last = [f"{each.stage}: {each.reason}" for each in self.degraded]
        return "\n".join(map(printable, [*first, *(rows or ["no hits"]), *last]))

    @property
    def _documents(self) -> list[ApiDocument]:
        return [hit.document for hit in self.hits]


def unlikely_because(hits: Sequence[Hit], degraded: Sequence[Degradation]) -> str:
    """Says that even the surest hit is hardly ever right; empty if one is likely, or none was judged."""
    best = max((hit.probability for hit in hits if hit.probability is not None), default=1.0)
    if best >= UNLIKELY or any(each.stage == "language" for each in degraded):
        return ""
    return f"the best is right in about {best:.0%} of such cases"


def tenths(probability: float) -> int:
    """How many of ten hits with this probability are right."""
    return math.floor(10 * probability + 0.5)


def sureness(probability: float) -> str:
    """How often a hit with this probability is right: in words, followed by the number."""
    right = tenths(probability)
    words = {0: "hardly ever right", 10: "right nearly always"}.get(right, f"right in about {right} of 10")
    return f"{words} ({probability:.0%})"


def _percent(hit: SearchHit) -> str:
    return "" if hit.probability is None else f"{hit.probability:.0%}"


def _beginning(document: ApiDocument) -> str:
    return " ".join(document.description.split())[:_SHOWN]
