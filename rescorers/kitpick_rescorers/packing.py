"""Selects definitions that fit into the context window of a language model.

The best set within a budget is a knapsack, solved exactly by dynamic programming over tokens and number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import ceil

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_rescorers.request import Rescored
from kitpick_rescorers.state import Degradation, StageTrace

MAX_CELLS = 60_000_000
"""Items × number × budget up to which the problem is solved: about a second and 60 MB."""


def best_set(
    values: Sequence[float], sizes: Sequence[int], budget: int, count: int
) -> tuple[int, ...] | None:
    """Positions of the items of largest total value, at most `count` of them and at most `budget` in size.

    Of two sets of equal value, the one that holds the earlier items. Values must not be negative.

    Returns:
        Positions in ascending order; None where the problem is larger than `MAX_CELLS`.

    Raises:
        ValueError: another number of values than of sizes, or a negative one of either.
    """
    if len(values) != len(sizes) or min(values, default=0) < 0 or min(sizes, default=0) < 0:
        raise ValueError("one value and one size an item, none of them negative")
    items = [place for place, size in enumerate(sizes) if size <= budget]
    count = max(0, min(count, len(items)))
    top = sorted(items, key=lambda place: (-values[place], place))[:count]
    if sum(sizes[place] for place in top) <= budget:
        return tuple(sorted(top))
    if len(items) * (count + 1) * (budget + 1) > MAX_CELLS:
        return None
    return _traced(_choices(values, sizes, items, budget, count), sizes, items, budget)


def _choices(
    values: Sequence[float], sizes: Sequence[int], items: Sequence[int], budget: int, count: int
) -> NDArray[np.bool_]:
    """Whether an item is taken, (n, count + 1, budget + 1), decided from the last item to the first.

    Entry (i, c, b): with at most c items out of those from i on and b tokens.
    """
    best = np.zeros((count + 1, budget + 1))
    taken = np.zeros((len(items), count + 1, budget + 1), dtype=np.bool_)
    for row in range(len(items) - 1, -1, -1):
        size, value = sizes[items[row]], values[items[row]]
        with_it = best[:-1, : budget + 1 - size] + value
        # At equal value the earlier item is taken, so that the order breaks ties.
        taken[row, 1:, size:] = with_it >= best[1:, size:]
        best[1:, size:] = np.maximum(best[1:, size:], with_it)
    return taken


def _traced(
    taken: NDArray[np.bool_], sizes: Sequence[int], items: Sequence[int], budget: int
) -> tuple[int, ...]:
    left, count, found = budget, taken.shape[1] - 1, []
    for row, place in enumerate(items):
        if taken[row, count, left]:
            found.append(place)
            left, count = left - sizes[place], count - 1
    return tuple(found)


PACKING = "pack"
"""The step's name in traces, and in degradations where nothing fits."""
_ENCODING = "o200k_base"
VOCABULARY_VARIABLE = "TIKTOKEN_CACHE_DIR"
"""tiktoken would download its vocabulary unless this names the folder that holds it."""


class TokenCounter(msgspec.Struct, frozen=True):
    """A function that counts tokens, and its name."""

    name: str
    count: Callable[[str], int]


def token_counter() -> TokenCounter:
    """Tiktoken if it is installed with its vocabulary, otherwise characters ÷ 4, rounded up."""
    if find_spec("tiktoken") is None or not os.environ.get(VOCABULARY_VARIABLE):
        return TokenCounter("length ÷ 4", lambda text: ceil(len(text) / 4))
    encoder = import_module("tiktoken").get_encoding(_ENCODING)
    return TokenCounter(f"tiktoken {_ENCODING}", lambda text: len(encoder.encode_ordinary(text)))


def first_fit(ids: Iterable[str], sizes: Mapping[str, int], budget: int) -> list[str]:
    """Ids whose definitions fit into `budget` tokens together, taken in order; what does not fit is skipped.

    An id of unknown size is left out: it could break the budget.
    """
    kept = []
    for candidate_id in ids:
        size = sizes.get(candidate_id)
        if size is not None and size <= budget:
            kept.append(candidate_id)
            budget -= size
    return kept


def best_fit(ids: Sequence[str], sizes: Mapping[str, int], budget: int, count: int) -> list[str]:
    """The set of at most `count` ids that is worth most within `budget` tokens, in order.

    The one at rank r is worth r^-1.5: a large definition gives way where others are worth more together.
    Exact, except for problems beyond `MAX_CELLS`, for which the first fit is taken. An id of unknown size is
    left out.
    """
    ranks = {key: rank for rank, key in enumerate(ids, start=1) if key in sizes}
    known = list(ranks)
    values = [ranks[key] ** -1.5 for key in known]
    found = best_set(values, [sizes[key] for key in known], budget, count)
    return first_fit(known, sizes, budget)[:count] if found is None else [known[place] for place in found]


class PackingSizes(msgspec.Struct, frozen=True):
    """Tokens of definitions by id, as they are and without most of their prose; slim ≤ whole."""

    counter: str
    """Name of the counter."""
    whole: Mapping[str, int]
    slim: Mapping[str, int]


def pack_results(
    ranked: Rescored, sizes: PackingSizes, budget: int, count: int
) -> tuple[Rescored, frozenset[str]]:
    """The best set of at most `count` hits by slimmed definitions, ranked anew, and the ids of those slimmed.

    Definitions are made whole by rank while there is room: what a model is most likely to call is what it
    reads most about. The trace tells of it under `pack`.
    """
    order = [hit.id for hit in ranked.results]
    kept = best_fit(order, sizes.slim, budget, count)
    left = budget - sum(sizes.slim[key] for key in kept)
    whole = frozenset(first_fit(kept, {key: sizes.whole[key] - sizes.slim[key] for key in kept}, left))
    tokens = {key: sizes.whole[key] if key in whole else sizes.slim[key] for key in kept}
    cut = {key: f"cut: {sizes.slim[key]} tokens, others are worth more" for key in order if key in sizes.slim}
    reasons = cut | {key: f"{size} tokens" for key, size in tokens.items()}
    if count and cut and not kept:
        why = f"none of {len(cut)} definitions fits into {budget:,} tokens: name a larger budget"
        ranked = replace(ranked, degraded=(*ranked.degraded, Degradation(PACKING, why)))
    return _packed(ranked, tokens, reasons, budget, sizes.counter), frozenset(kept) - whole


def _packed(
    ranked: Rescored, tokens: Mapping[str, int], reasons: Mapping[str, str], budget: int, counter: str
) -> Rescored:
    """The kept hits, ranked anew, with a trace of the packing."""
    kept = [hit for hit in ranked.results if hit.id in tokens]
    used = sum(tokens.values())
    entry = StageTrace(
        stage=PACKING,
        milliseconds=0.0,
        order=tuple(hit.id for hit in kept),
        scores=tuple(hit.score for hit in kept),
        reasons=reasons,
        note=f"{len(kept)} of {len(ranked.results)} chosen: {used} of {budget} tokens by {counter}",
        details={"tokens": float(used), "budget": float(budget)},
    )
    hits = tuple(
        replace(hit, rank=rank, reasons=(*hit.reasons, f"pack: {reasons[hit.id]}"))
        for rank, hit in enumerate(kept, start=1)
    )
    return replace(ranked, results=hits, trace=(*ranked.trace, entry))
