"""Searches for several steps at once: finds tools for each step, and makes one list for all of them.

A model that searches for tools says what it needs as short capabilities, one a step: "send an e-mail with
attachment". Each is searched by itself, so that no step drowns among the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import Annotated, Any

import msgspec
from msgspec.structs import replace

from kitpick.result import Depth, SearchResult
from kitpick_engines.document import ApiDocument
from kitpick_rescorers.packing import PACKING
from kitpick_rescorers.search import SearchHit

MAX_STEPS = 10
MAX_CAPABILITY = 1_000
"""Most characters of one step."""
MAX_OFFSET = 100
_PAGE = 5
"""Tools behind those that are passed over, where the first page had as many as were needed."""
Capability = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_CAPABILITY)]
Capabilities = Annotated[
    list[Capability],
    msgspec.Meta(
        min_length=1,
        max_length=MAX_STEPS,
        description=(
            "What tools are needed for, one short capability a step, as verb and object: "
            '["find a customer by name", "send an e-mail with attachment"]. Leave names, dates and other '
            "values out."
        ),
    ),
]


class CapabilityArguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments that a model gives a search which is one of its tools."""

    capabilities: Capabilities
    offset: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=MAX_OFFSET,
            description=(
                "How many tools to pass over for each capability: as many as an earlier search of the same "
                "capabilities found, to see the next ones."
            ),
        ),
    ] = 0

    def search(self, search: Callable[..., SearchResult], k: Depth) -> Steps:
        """What is found for the capabilities, behind what is passed over; `search` is `Catalog.search`."""
        size = self.offset + (_PAGE if k == "auto" else k) if self.offset else k
        return search_steps(partial(search, k=size), self.capabilities, self.offset)


class Step(msgspec.Struct, frozen=True):
    """One capability and what was found for it."""

    capability: str
    result: SearchResult
    offset: int = 0
    """How many of its tools are passed over."""

    @property
    def hits(self) -> tuple[SearchHit, ...]:
        """The tools for it, best first; none where nothing fits."""
        return self.result.hits[self.offset :] if self.fits else ()

    @property
    def fits(self) -> bool:
        """Whether an API of the catalog does it, even if it was left out as a repetition or for a budget."""
        over_budget = any(each.stage == PACKING for each in self.result.degraded)
        return bool(self.result.hits or over_budget) and not self.result.abstained


class Steps(msgspec.Struct, frozen=True):
    """What was found for several capabilities."""

    steps: tuple[Step, ...]

    @property
    def joint(self) -> tuple[SearchHit, ...]:
        """Every tool once: the best of each step, then the second of each, and so on."""
        first: dict[str, SearchHit] = {}
        for row in zip_longest(*(step.hits for step in self.steps)):
            for hit in row:
                if hit is not None:
                    first.setdefault(hit.id, hit)
        return tuple(first.values())

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Capabilities for which nothing in the catalog is likely to do, and sentences of the others."""
        return tuple(
            text
            for step in self.steps
            for text in (step.result.unmatched if step.fits else (step.capability,))
        )


_OURS = frozenset({"title", "description"})
"""Keys that msgspec fills with the name and the docstring of a class."""


def no_tool_fits(steps: Steps) -> str:
    """What a model is told where a search loads nothing."""
    nothing = "there are no more of these" if steps.steps else "an empty request"
    missing = "; ".join(steps.unmatched) or nothing
    return f"no tool fits: {missing}. Say it in other words, or go on without one."


def arguments_schema(arguments: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON Schema of a tool's arguments, without references, and without the docstring: a model reads it."""
    (_,), components = msgspec.json.schema_components([arguments])
    (schema,) = components.values()
    return {key: value for key, value in schema.items() if key not in _OURS} | {"additionalProperties": False}


def search_steps(
    search: Callable[[str], SearchResult], capabilities: Sequence[str], offset: int = 0
) -> Steps:
    """Searches for each capability by itself, each different one once, `MAX_STEPS` at most."""
    wanted = list(_different(capabilities))[:MAX_STEPS]
    known: dict[str, ApiDocument] = {}
    return Steps(tuple(Step(text, _sharing(search(text), known), offset) for text in wanted))


def _sharing(result: SearchResult, known: dict[str, ApiDocument]) -> SearchResult:
    """The result with documents that are known: each can have megabytes, and be found by every step."""
    shared = [known.setdefault(hit.id, hit.document) for hit in result.hits]
    hits = (
        replace(hit, document=document) if hit.document == document else hit
        for hit, document in zip(result.hits, shared, strict=True)
    )
    return replace(result, hits=tuple(hits))


def _different(capabilities: Sequence[str]) -> Iterator[str]:
    seen = set()
    for text in capabilities:
        short = " ".join(text.split())[:MAX_CAPABILITY]
        if short and short not in seen:
            seen.add(short)
            yield short
