"""Fitting definitions into the context window of a language model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import ceil

import msgspec

from toolrank_rescorers.knapsack import best_set
from toolrank_rescorers.state import DefinitionSizes

VOCABULARY_VARIABLE = "TIKTOKEN_CACHE_DIR"
"""tiktoken would download its vocabulary unless this names the folder that holds it."""


class TokenCounter(msgspec.Struct, frozen=True):
    """A way to count tokens, and its name."""

    name: str
    count: Callable[[str], int]

    def measure(self, definitions: Mapping[str, str]) -> DefinitionSizes:
        """Tokens of every definition."""
        return DefinitionSizes(self.name, {key: self.count(text) for key, text in definitions.items()})


def token_counter(encoding: str = "o200k_base") -> TokenCounter:
    """Tiktoken where it is installed and its vocabulary is at hand, otherwise characters ÷ 4, rounded up."""
    if find_spec("tiktoken") is None or not os.environ.get(VOCABULARY_VARIABLE):
        return TokenCounter("length ÷ 4", lambda text: ceil(len(text) / 4))
    encoder = import_module("tiktoken").get_encoding(encoding)
    return TokenCounter(f"tiktoken {encoding}", lambda text: len(encoder.encode_ordinary(text)))


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
    Exact, except for problems beyond `knapsack.MAX_CELLS`, for which the first fit is taken. An id of unknown
    size is left out.
    """
    ranks = {key: rank for rank, key in enumerate(ids, start=1) if key in sizes}
    known = list(ranks)
    found = best_set([ranks[key] ** -1.5 for key in known], [sizes[key] for key in known], budget, count)
    return first_fit(known, sizes, budget)[:count] if found is None else [known[place] for place in found]
