"""Ranking measures per query. All but Comp come from ir-measures (trec_eval); Comp is ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError, InvalidCutoff
from kitpick_foundation.errors import MissingExtra

CUTOFFS = (3, 5, 10)
Figures = dict[str, float]


def comp(ranking: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Comp@k: 1 when *every* relevant API stands among the first k, otherwise 0 (COLT, CIKM 2024)."""
    return float(relevant <= set(ranking[:k]))


def check_cutoffs(cutoffs: Sequence[int], catalog_size: int | None = None) -> tuple[int, ...]:
    """The values of k, ascending.

    Raises:
        InvalidCutoff: none, one below 1, one twice, or one above the number of APIs in the catalog.
    """
    if not cutoffs or min(cutoffs) < 1 or len(set(cutoffs)) != len(cutoffs):
        raise InvalidCutoff(f"the values of k must be different and at least 1, got {list(cutoffs)}")
    if catalog_size is not None and max(cutoffs) > catalog_size:
        raise InvalidCutoff(
            f"k = {max(cutoffs)} is above the catalog's size of {catalog_size} APIs: choose a smaller k"
        )
    return tuple(sorted(cutoffs))


def score_rankings(
    queries: Sequence[JudgedQuery], rankings: Mapping[str, Sequence[str]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, Figures]:
    """Figures of every query, by query id: `ndcg@k recall@k precision@k comp@k` for each k, `mrr`, `map`.

    An API without a judgement counts as irrelevant, and so does a further one of a group of equally right
    APIs. `mrr` and `map` see as deep as the ranking goes.

    Rankings are ids, best first, by query id; a missing one counts as empty.

    Raises:
        EvaluationError: a ranking names an API twice.
        MissingExtra: ir-measures is not installed.
    """
    figures: dict[str, Figures] = {}
    for query in queries:
        ranking = rankings.get(query.id, ())
        if len(set(ranking)) != len(ranking):
            raise EvaluationError(f"query {query.id!r}: the ranking names an API twice")
        counted, wanted = query.counted(ranking), query.counted_relevant
        figures[query.id] = {f"comp@{k}": comp(counted, wanted, k) for k in cutoffs}
    for query_id, name, value in _library_figures(queries, rankings, cutoffs):
        figures[query_id][name] = value
    order = figure_names(cutoffs)
    return {query_id: {name: found[name] for name in order} for query_id, found in figures.items()}


def figure_names(cutoffs: Sequence[int]) -> tuple[str, ...]:
    """The names of all figures, in the order of reports."""
    at_k = [f"{name}@{k}" for name in ("ndcg", "recall", "precision", "comp") for k in cutoffs]
    return (*at_k, "mrr", "map")


def mean(figures: Sequence[Figures]) -> Figures:
    """Arithmetic mean of each figure."""
    return {name: sum(f[name] for f in figures) / len(figures) for name in figures[0]} if figures else {}


def _library_figures(
    queries: Sequence[JudgedQuery], rankings: Mapping[str, Sequence[str]], cutoffs: Sequence[int]
) -> Iterator[tuple[str, str, float]]:
    measures = _measures(cutoffs)
    qrels = {query.id: dict.fromkeys(query.counted_relevant, 1) for query in queries}
    # Descending distinct scores state the order without ties; an empty run is left out by the library.
    run = {query.id: _descending(query.counted(rankings.get(query.id, ()))) for query in queries}
    for query in queries:
        if not run[query.id]:
            yield from ((query.id, name, 0.0) for name in measures.values())
    import ir_measures

    for metric in ir_measures.iter_calc(list(measures), qrels, {q: r for q, r in run.items() if r}):
        if run[metric.query_id]:  # the library also reports zeros for judged queries without a run
            yield metric.query_id, measures[metric.measure], float(metric.value)


def _descending(ranking: Sequence[str]) -> dict[str, float]:
    return {api: float(len(ranking) - position) for position, api in enumerate(ranking)}


def _measures(cutoffs: Sequence[int]) -> dict[Any, str]:
    try:
        from ir_measures import AP, RR, P, R, nDCG
    except ImportError as error:
        raise MissingExtra("eval", "ranking metrics") from error
    at_k = {"ndcg": nDCG, "recall": R, "precision": P}
    return {measure @ k: f"{name}@{k}" for name, measure in at_k.items() for k in cutoffs} | {
        RR: "mrr",
        AP: "map",
    }
