"""Data for the figures of the explain page: ways through the stages, token budget.

A candidate is named by its position in the list of all candidates of the search.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kitpick.definition_tokens import count_tokens
from kitpick.result import SearchResult
from kitpick.ui.protocol import PackedDefinition, Packing, ShownStage
from kitpick_engines.contract import Candidate
from kitpick_rescorers.packing import token_counter
from kitpick_rescorers.search import SearchOutcome

FIND = "find"
"""Name of the step that every other one starts from: the rankings, and what was fetched later."""
_MAX_SHOWN = 20_000
"""Characters of one definition: some are as long as a book."""


def flow(outcome: SearchOutcome, place: Mapping[str, int]) -> tuple[ShownStage, ...]:
    """Every step, the first stage first: candidates that entered, that were cut, and the reasons."""
    stages = [_found(outcome, place)]
    for entry in outcome.rescored.trace:
        before, after = stages[-1].order, tuple(place[key] for key in entry.order)
        stages.append(
            ShownStage(
                stage=entry.stage,
                milliseconds=entry.milliseconds,
                note=entry.note,
                skipped=entry.skipped,
                order=after,
                entered=_beyond(after, before),
                cut=_beyond(before, after),
                reasons={place[key]: reason for key, reason in entry.reasons.items() if key in place},
                details=entry.details,
            )
        )
    return tuple(stages)


def _found(outcome: SearchOutcome, place: Mapping[str, int]) -> ShownStage:
    seen = outcome.seen
    reasons = {place[item.id]: _rankings(item) for item in seen.candidates}
    reasons |= {
        place[item.id]: "fetched: an API of a wanted tool"
        if item.tool_key in seen.complete_tools
        else "fetched: near to what the chosen leave of the request"
        for item in seen.fetched
    }
    order = tuple(reasons)
    lexical = sum(item.lexical is not None for item in seen.candidates)
    dense = sum(item.dense is not None for item in seen.candidates)
    voted = sum(item.intent is not None for item in seen.candidates)
    by_samples = f", {voted} by sample requests" if voted else ""
    return ShownStage(
        stage=FIND,
        milliseconds=outcome.timings["first_stage"],
        note=f"{lexical} by words, {dense} by vector{by_samples}, {len(seen.fetched)} fetched later",
        skipped="",
        order=order,
        entered=order,
        cut=(),
        reasons=reasons,
    )


def _rankings(candidate: Candidate) -> str:
    return ", ".join(
        f"{name} rank {found.rank} ({found.score:.3g})"
        for name, found in candidate.places.items()
        if found is not None
    )


def _beyond(these: Iterable[int], those: Iterable[int]) -> tuple[int, ...]:
    known = set(those)
    return tuple(item for item in these if item not in known)


def packing(result: SearchResult, budget: int, place: Mapping[str, int]) -> Packing:
    """Tokens of every definition in the form for a model, in order."""
    counter = token_counter()
    definitions = tuple(
        PackedDefinition(
            candidate=place[hit.document.id],
            tokens=count_tokens(definition, counter),
            slimmed=hit.document.id in result.slimmed,
            definition=json.dumps(definition, indent=2, ensure_ascii=False)[:_MAX_SHOWN],
        )
        for hit, definition in zip(result.hits, result.definitions("openai"), strict=True)
    )
    return Packing(budget, sum(item.tokens for item in definitions), counter.name, definitions)
