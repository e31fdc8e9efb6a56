"""How long whole searches take when nothing is remembered from earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from toolrank.answering import CatalogSystem
from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.report import Timing


def timings(
    systems: Mapping[str, CatalogSystem],
    queries: Sequence[JudgedQuery],
    k: int,
    advance: Callable[[int], None] = lambda _: None,
) -> tuple[Timing, ...]:
    """Median and 95th percentile of searches for these requests, the systems in turn.

    Query vectors and cross-encoder scores are forgotten before every search; the first search of each system
    warms it up and does not count.
    """
    spent: dict[str, list[float]] = {name: [] for name in systems}
    if not queries:
        return ()
    for system in systems.values():
        _milliseconds(system, queries[0].text, k)
    for query in queries:
        for name, system in systems.items():
            spent[name].append(_milliseconds(system, query.text, k))
        advance(1)
    return tuple(
        Timing(name, len(taken), float(np.median(taken)), float(np.quantile(taken, 0.95)))
        for name, taken in spent.items()
    )


def _milliseconds(system: CatalogSystem, request: str, k: int) -> float:
    system.catalog.models.forget()
    started = time.perf_counter()
    system.search(request, k)
    return (time.perf_counter() - started) * 1e3
