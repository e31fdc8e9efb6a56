"""What an API gains by its tool: requests need several APIs of one tool more often than chance has it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolrank_rescorers.state import Ranked


def lifted(items: Sequence[Ranked], share: float) -> list[Ranked]:
    """Every score s(c) as (1 − share) · s(c) + share · max of s over the candidates of the same tool.

    A soft form of ToolRerank's concentration (its Algorithm 1): nothing is decided, and order within a tool
    stays. Items come back in their order.
    """
    if not share:
        return list(items)
    best: dict[str, float] = {}
    for item in items:
        best[item.tool] = max(item.score, best.get(item.tool, item.score))
    return [replace(item, score=item.score + share * (best[item.tool] - item.score)) for item in items]


def said_of_lift(before: Ranked, after: Ranked) -> str:
    """The end of a reason; empty where the API is itself the best of its tool."""
    gain = after.score - before.score
    return f" + {gain:.2g} for the best of its tool" if gain else ""
