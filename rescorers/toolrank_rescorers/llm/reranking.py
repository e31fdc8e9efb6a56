"""A list of texts in the order of a language model: shown with care, a window at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from toolrank_rescorers.llm.answers import Outcome
from toolrank_rescorers.llm.meter import Meter
from toolrank_rescorers.llm.permutation import ask_order
from toolrank_rescorers.llm.planted import held_back, shown
from toolrank_rescorers.llm.windows import slide

PARALLEL = 8
"""Calls at the same time."""


class Windows(msgspec.Struct, frozen=True):
    """How a list is shown."""

    size: int = 20
    step: int = 10
    characters: int = 600
    """Of each text."""


class Permuted(msgspec.Struct, frozen=True):
    """Ids in their new order, and those whose text speaks to the ranker."""

    order: tuple[str, ...]
    planted: frozenset[str]
    outcomes: tuple[Outcome, ...]
    """One a window."""


def permuted(meter: Meter, query: str, texts: Mapping[str, str], windows: Windows) -> Permuted:
    """One pass of the sliding window over texts by id. A window without an answer in it stays as it is.

    Raises:
        CallFailed: a call brought no answer, or a cap is reached.
        ValueError: a step that no pass can be made with.
    """
    outcomes: list[Outcome] = []
    seen = {key: shown(text, windows.characters) for key, text in texts.items()}

    def order(window: Sequence[str]) -> list[str]:
        ranking = ask_order(meter, query, [seen[key].text for key in window])
        outcomes.append(ranking.outcome)
        return [window[place] for place in ranking.order]

    with ThreadPoolExecutor(PARALLEL) as pool:
        ranked = slide(list(seen), windows.size, windows.step, lambda group: pool.map(order, group))
    planted = frozenset(key for key, text in seen.items() if text.planted)
    return Permuted(tuple(held_back(list(seen), ranked, planted)), planted, tuple(outcomes))
